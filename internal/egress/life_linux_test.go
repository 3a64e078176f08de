package egress

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// box is a sandbox with a proxy process, as sandbox-exec makes it.
type box struct {
	*exec.Cmd
	in    io.WriteCloser
	out   *bufio.Reader
	proxy int // a descriptor of the proxy process (pidfd_open)
	pid   int // of the proxy process
	init  int // the sandbox's process 1
}

// newBox starts a shell script in a sandbox. It must print a line first.
func newBox(t *testing.T, script string) *box {
	t.Helper()
	requireTool(t, "bwrap")
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	log := filepath.Join(privateDir(t), "denials")
	b := &box{Cmd: exec.Command(exe, sandboxProgram, log, "registry.example", "/bin/sh", "-c", script)}
	b.Stderr = os.Stderr
	out, err := b.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, far, err := os.Pipe() // unlike a StdinPipe, it stays open after Wait
	if err != nil {
		t.Fatal(err)
	}
	b.Stdin, b.in = in, far
	err = b.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	b.out = bufio.NewReader(out)
	t.Cleanup(func() {
		b.in.Close()
		if b.ProcessState == nil {
			_ = b.Process.Kill()
			_ = b.Wait()
		}
		unix.Close(b.proxy)
	})
	if line, err := b.out.ReadString('\n'); err != nil {
		t.Fatalf("read %q: %v", line, err)
	}
	for _, pid := range children(t, b.Process.Pid) {
		command, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(command), helperCommand) {
			b.pid = pid
		} else {
			b.init = pid
		}
	}
	b.proxy = openProcess(t, b.pid)
	return b
}

func children(t *testing.T, of int) (pids []int) {
	t.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", of))
	if err != nil {
		t.Fatal(err)
	}
	for _, thread := range threads {
		raw, err := os.ReadFile(thread)
		if err != nil {
			continue // the thread has ended
		}
		for text := range strings.FieldsSeq(string(raw)) {
			pid, err := strconv.Atoi(text)
			if err != nil {
				t.Fatal(err)
			}
			pids = append(pids, pid)
		}
	}
	return pids
}

func openProcess(t *testing.T, pid int) (fd int) {
	t.Helper()
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		t.Fatalf("open process %d: %v", pid, err)
	}
	return fd
}

// hasEnded waits for the end of a process up to a time in milliseconds.
func hasEnded(t *testing.T, process, wait int) bool {
	t.Helper()
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(process), Events: unix.POLLIN}}, wait)
	if err != nil {
		t.Fatal(err)
	}
	return n > 0
}

func (b *box) wantEnd(t *testing.T) {
	t.Helper()
	if !hasEnded(t, b.proxy, int(patience.Milliseconds())) {
		t.Error("the proxy is left")
	}
}

func TestProxyEndsWithTheProgram(t *testing.T) {
	b := newBox(t, "echo ready; read line; exit 7")
	if hasEnded(t, b.proxy, 0) {
		t.Fatal("the proxy has ended before the program")
	}
	b.in.Close()
	if _ = b.Wait(); b.ProcessState.ExitCode() != 7 {
		t.Errorf("exit code %d, want 7", b.ProcessState.ExitCode())
	}
	b.wantEnd(t)
}

// A background job keeps its network after the program's end.
func TestProxyEndsWithTheLastProcess(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBox(t, "read line <"+fifo+" & echo ready; read line; exit 3")
	b.in.Close()
	if _ = b.Wait(); b.ProcessState.ExitCode() != 3 {
		t.Errorf("exit code %d, want 3", b.ProcessState.ExitCode())
	}
	if hasEnded(t, b.proxy, 0) {
		t.Error("the proxy has ended before the last process of the sandbox")
	}
	if err := os.WriteFile(fifo, []byte("end\n"), 0); err != nil {
		t.Error(err)
	}
	b.wantEnd(t)
}

func TestProxyEndsWithAKilledSandbox(t *testing.T) {
	b := newBox(t, "echo ready; read line")
	if err := unix.Kill(b.init, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	_ = b.Wait()
	b.wantEnd(t)
}

// Without bubblewrap's outer process, the program runs on as any orphan does.
func TestProxyOutlivesBubblewrap(t *testing.T) {
	b := newBox(t, "echo ready; read line; echo $line; read line")
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(b.in, "still here\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := b.out.ReadString('\n'); line != "still here\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if hasEnded(t, b.proxy, 0) {
		t.Error("the proxy has ended before the program")
	}
	b.in.Close()
	_ = b.Wait()
	b.wantEnd(t)
}

// A killed proxy takes the network away, and nothing else.
func TestKilledProxy(t *testing.T) {
	b := newBox(t, `echo ready; read line; echo $line; exit 5`)
	if err := unix.Kill(b.pid, unix.SIGKILL); err != nil {
		t.Fatal(err)
	}
	b.wantEnd(t)
	if _, err := io.WriteString(b.in, "still here\n"); err != nil {
		t.Fatal(err)
	}
	if line, err := b.out.ReadString('\n'); line != "still here\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if _ = b.Wait(); b.ProcessState.ExitCode() != 5 {
		t.Errorf("exit code %d, want 5", b.ProcessState.ExitCode())
	}
}

// A sandbox that is never made leaves no proxy.
func TestProxyOfNoSandbox(t *testing.T) {
	before := children(t, os.Getpid())
	l, err := startProxy([]string{"registry.example"}, filepath.Join(t.TempDir(), "denials"), "")
	if err != nil {
		t.Fatal(err)
	}
	var proxy int
	eventually(t, "the proxy", func() bool {
		for _, pid := range children(t, os.Getpid()) {
			if !slices.Contains(before, pid) {
				proxy = pid
			}
		}
		return proxy != 0
	})
	process := openProcess(t, proxy)
	defer unix.Close(process)
	l.close()
	if !hasEnded(t, process, int(patience.Milliseconds())) {
		t.Error("the proxy is left")
	}
	if _, err := unix.Wait4(proxy, nil, 0, nil); err != nil {
		t.Error(err)
	}
}

func TestStartRefusesABadList(t *testing.T) {
	if _, err := startProxy([]string{"*"}, "/nowhere", ""); err == nil {
		t.Error("a bad list starts a proxy")
	}
}

// The program does not start without its proxy, and is told why.
func TestJoinWithoutProxy(t *testing.T) {
	end, l, err := newLink()
	if err != nil {
		t.Fatal(err)
	}
	end.Close()
	socket, err := unix.FcntlInt(uintptr(l.socket), unix.F_DUPFD_CLOEXEC, 3) // Join closes it
	l.close()
	if err != nil {
		t.Fatal(err)
	}
	if err := joinProxy(socket); err == nil || !strings.Contains(err.Error(), "the proxy has ended") {
		t.Errorf("Join = %v", err)
	}
}
