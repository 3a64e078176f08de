package egress

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// The programs that this test binary is for itself.
const (
	joinProgram    = "egress-test-join"    // inside, first: what sandbox-inner is
	tryProgram     = "egress-test-try"     // inside: tries ways and prints what came of them
	sandboxProgram = "egress-test-sandbox" // outside: what sandbox-exec is
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch args := os.Args[2:]; os.Args[1] {
		case helperCommand:
			os.Exit(Main(args))
		case joinProgram:
			os.Exit(join(args))
		case tryProgram:
			os.Exit(try(os.Stdin, os.Stdout))
		case sandboxProgram:
			os.Exit(sandbox(args))
		}
	}
	goleak.VerifyTestMain(m)
}

// bwrapArgs are options of bubblewrap for a sandbox that shows all files.
var bwrapArgs = []string{"--unshare-user", "--unshare-pid", "--unshare-net", "--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}

// inside are the arguments of bubblewrap for a program in a sandbox with a link.
func (l *proxyLink) inside(program ...string) []string {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	alive, err := unix.FcntlInt(uintptr(l.socket), unix.F_DUPFD, 3) // as package sandbox has it
	if err != nil {
		panic(err)
	}
	l.files = append(l.files, alive)
	return slices.Concat(bwrapArgs, l.args, []string{"--sync-fd", strconv.Itoa(alive)}, []string{"--", exe, joinProgram, strconv.Itoa(l.socket)}, program)
}

// sandbox executes bubblewrap as sandbox-exec does. Its arguments are the log, an
// entry of the list, and the program.
func sandbox(args []string) int {
	l, err := startProxy(args[1:2], args[0], "")
	if err == nil {
		err = l.inherit()
	}
	if err == nil {
		err = unix.Exec("/usr/bin/bwrap", append([]string{"bwrap"}, l.inside(args[2:]...)...), os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// join executes a program inside as sandbox-inner does. Its arguments are the socket
// and the program.
func join(args []string) int {
	socket, err := strconv.Atoi(args[0])
	if err == nil {
		err = joinProxy(socket)
	}
	if err == nil {
		err = unix.Exec(args[1], args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// attempt is one thing that a program inside does.
type attempt struct {
	Do   string // dial, listen, dns, udp, fds, caps, env
	At   string // an address, a name or a number
	Send []byte // then the sending side is closed
	Wait bool   // for the first bytes before sending
}

// try makes the attempts that it reads, and prints the result of each.
func try(in io.Reader, out io.Writer) int {
	var list []attempt
	if err := json.NewDecoder(in).Decode(&list); err != nil {
		return 2
	}
	results := make([][]byte, len(list)) // base64, because they are no text
	for i, a := range list {
		got, err := a.run()
		if err != nil {
			got += " error: " + err.Error()
		}
		results[i] = []byte(got)
	}
	if err := json.NewEncoder(out).Encode(results); err != nil {
		return 2
	}
	return 0
}

func (a attempt) run() (string, error) {
	switch a.Do {
	case "dial":
		return a.dial()
	case "dns":
		addrs, err := net.DefaultResolver.LookupHost(testContext(), a.At+".")
		return strings.Join(addrs, " "), err
	case "listen":
		l, err := net.Listen("tcp4", a.At)
		if err != nil {
			return "", err
		}
		defer l.Close()
		go func() {
			if c, err := l.Accept(); err == nil {
				_, _ = io.WriteString(c, "own")
				c.Close()
			}
		}()
		return attempt{Do: "dial", At: l.Addr().String()}.dial()
	case "udp":
		c, err := net.Dial("udp", a.At)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, err = c.Write([]byte("x"))
		return "sent", err
	case "raw":
		_, err := unix.Socket(unix.AF_INET, unix.SOCK_RAW, unix.IPPROTO_ICMP)
		return "", err
	case "fds":
		entries, err := os.ReadDir("/proc/self/fd")
		var names []string
		for _, e := range entries {
			target, _ := os.Readlink("/proc/self/fd/" + e.Name())
			if strings.HasPrefix(target, "socket:") || strings.Contains(target, "memfd") || strings.Contains(target, ".test") {
				names = append(names, target)
			}
		}
		return fmt.Sprint(names), err
	case "caps":
		raw, err := os.ReadFile("/proc/self/status")
		var found []string
		for line := range strings.Lines(string(raw)) {
			if strings.HasPrefix(line, "Cap") || strings.HasPrefix(line, "NoNewPrivs") {
				found = append(found, strings.Join(strings.Fields(line), " "))
			}
		}
		return strings.Join(found, "; "), err
	case "env":
		return os.Getenv(a.At), nil
	}
	return "", fmt.Errorf("no attempt %q", a.Do)
}

// dial connects, sends, and reads to the end.
func (a attempt) dial() (string, error) {
	network := "tcp"
	if strings.HasPrefix(a.At, "@") {
		network = "unix"
	}
	c, err := net.DialTimeout(network, a.At, patience)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	first := make([]byte, 256)
	n := 0
	if a.Wait {
		if n, err = c.Read(first); err != nil {
			return "", err
		}
	}
	if _, err := c.Write(a.Send); err != nil {
		return "", err
	}
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	rest, err := io.ReadAll(c)
	return string(first[:n]) + string(rest), err
}

// runInside runs a program in a sandbox whose proxy is p, and returns its output.
func runInside(t *testing.T, p *proxy, input []byte, args ...string) string {
	t.Helper()
	bwrap := requireTool(t, "bwrap")
	end, l, err := newLink()
	if err != nil {
		t.Fatal(err)
	}
	conn, err := fileConn(end)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	done := make(chan error, 1)
	go func() { done <- run(conn, p) }()
	if err := l.inherit(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bwrap, l.inside(args...)...)
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(input), &out, &errs
	err = cmd.Start()
	l.close()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("inside: %v\n%s", err, errs.String())
	}
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("proxy: %v", err)
		}
	case <-time.After(patience):
		t.Error("the proxy is left")
	}
	return out.String()
}

// tryInside makes attempts in a sandbox.
func tryInside(t *testing.T, p *proxy, list []attempt) (results [][]byte) {
	t.Helper()
	input, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	out := runInside(t, p, input, exe, tryProgram)
	if err := json.Unmarshal([]byte(out), &results); err != nil || len(results) != len(list) {
		t.Fatalf("%d results of %d: %v\n%s", len(results), len(list), err, out)
	}
	return results
}
