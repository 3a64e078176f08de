package onwindows

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// patience bounds every wait, of which none is expected to be long.
const patience = time.Minute

// TestMain makes the test binary the program of sessions too.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "program" {
		os.Exit(program(os.Args[2:]))
	}
	os.Exit(m.Run())
}

// program runs on a session's console. It opens the console itself, because under
// Wine it does not inherit it.
func program(args []string) int {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return 101
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return 102
	}
	switch args[0] {
	case "echo":
		return echo(in, out)
	case "keys":
		return printKeys(in, out)
	case "resized": // as "on", and the console becomes smaller once there is a file args[1]
		go shrink(in, out, args[1])
		args = args[1:]
		fallthrough
	case "on": // a command of an installation on this console, such as middleman attach
		cmd := exec.Command(args[2], args[3:]...)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, out
		cmd.Env = environ(args[1])
		if err := cmd.Run(); cmd.ProcessState == nil {
			fmt.Fprintf(out, "%v\r\n", err)
			return 103
		}
		fmt.Fprintf(out, "left with %d\r\n", cmd.ProcessState.ExitCode())
		return cmd.ProcessState.ExitCode()
	}
	return 104
}

// echo prints each line that it reads, and ends at "exit N".
func echo(in, out *os.File) int {
	fmt.Fprintf(out, "ready\r\n")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if code, ok := strings.CutPrefix(text, "exit "); ok {
			n, _ := strconv.Atoi(code)
			return n
		}
		fmt.Fprintf(out, "<%s>\r\n", text)
	}
	return 105
}

// printKeys prints the code of each byte that is typed, and ends at a q.
func printKeys(in, out *os.File) int {
	if err := windows.SetConsoleMode(windows.Handle(in.Fd()), 0); err != nil {
		return 106
	}
	fmt.Fprintf(out, "ready\r\n")
	for key := make([]byte, 1); key[0] != 'q'; {
		if _, err := in.Read(key); err != nil {
			return 107
		}
		fmt.Fprintf(out, "key %d.\r\n", key[0])
	}
	return 0
}

var (
	kernel32             = windows.NewLazySystemDLL("kernel32.dll")
	setConsoleWindowInfo = kernel32.NewProc("SetConsoleWindowInfo")
	writeConsoleInput    = kernel32.NewProc("WriteConsoleInputW")
)

// smaller is the size that shrink gives to a console.
var smaller = windows.Coord{X: 60, Y: 20}

// shrink makes the window of a console smaller once there is a file trigger, and
// tells who reads the console, as Windows does.
func shrink(in, out *os.File, trigger string) {
	for _, err := os.Stat(trigger); err != nil; _, err = os.Stat(trigger) {
		time.Sleep(10 * time.Millisecond) // no event tells of a file under Wine
	}
	window := windows.SmallRect{Right: smaller.X - 1, Bottom: smaller.Y - 1}
	if ok, _, err := setConsoleWindowInfo.Call(out.Fd(), 1, uintptr(unsafe.Pointer(&window))); ok == 0 {
		fmt.Fprintf(out, "no smaller window: %v\r\n", err)
	}
	record := struct { // INPUT_RECORD of wincon.h
		kind, _ uint16
		size    windows.Coord
		_       [12]byte
	}{kind: 4 /* WINDOW_BUFFER_SIZE_EVENT */, size: smaller}
	var n uint32
	if ok, _, err := writeConsoleInput.Call(in.Fd(), uintptr(unsafe.Pointer(&record)), 1, uintptr(unsafe.Pointer(&n))); ok == 0 {
		fmt.Fprintf(out, "no event: %v\r\n", err)
	}
}

// self is the path of the test binary.
func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// world is one installation of middleman.
type world struct {
	t    *testing.T
	home string
	env  []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, home: filepath.Join(t.TempDir(), "home")}
	w.env = environ(w.home)
	t.Cleanup(func() { // without the server, which has ended
		for _, s := range w.sessions() {
			if s.State == "running" {
				w.run(0, "stop", s.ID, "--grace", "0s")
			}
		}
	})
	return w
}

// environ is the environment of middleman's commands for the installation at home,
// and for no session.
func environ(home string) []string {
	env := []string{"MIDDLEMAN_HOME=" + home}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !strings.HasPrefix(strings.ToUpper(name), "MIDDLEMAN_") {
			env = append(env, v)
		}
	}
	return env
}

// command is the real binary with args, in this installation.
func (w *world) command(args ...string) *exec.Cmd {
	w.t.Helper()
	binary := os.Getenv("MIDDLEMAN_WINDOWS_BINARY")
	if binary == "" {
		w.t.Fatal("MIDDLEMAN_WINDOWS_BINARY does not name the binary to test: scripts/test-windows does")
	}
	cmd := exec.Command(binary, args...) // also once the test has ended
	cmd.Env, cmd.WaitDelay = w.env, patience
	return cmd
}

// run returns what a command prints. It has to end with code.
func (w *world) run(code int, args ...string) string {
	w.t.Helper()
	cmd := w.command(args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	err := cmd.Run()
	if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != code {
		w.t.Fatalf("middleman %s: %v, and not exit code %d\n%s%s", strings.Join(args, " "), err, code, &out, &errs)
	}
	if code != 0 {
		return errs.String()
	}
	return out.String()
}

// get decodes what a command prints as JSON.
func get[T any](w *world, args ...string) (v T) {
	w.t.Helper()
	text := w.run(0, append(args, "--json")...)
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		w.t.Fatalf("middleman %s printed %s: %v", strings.Join(args, " "), text, err)
	}
	return v
}

// serve starts a server that ends with the test. It returns its address, a link
// to log in, and what ends it.
func (w *world) serve() (address, link string, end func()) {
	w.t.Helper()
	cmd := w.command("serve", "--print-link", "--listen", "127.0.0.1:0")
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	ended := false
	end = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	w.t.Cleanup(end)
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	defer timer.Stop()
	lines := bufio.NewReader(out)
	for _, want := range []*string{&address, &link} {
		line, err := lines.ReadString('\n')
		if err != nil {
			end()
			w.t.Fatalf("serve printed %q, and ended: %s", line, &errs)
		}
		fields := strings.Fields(line)
		*want = strings.TrimPrefix(fields[len(fields)-1], "http://")
	}
	go func() { _, _ = io.Copy(io.Discard, out) }() // ends with the server
	return address, link, end
}

// session is what `ls --sessions --json` tells of one.
type session struct {
	ID        string `json:"id"`
	Workspace string `json:"workspace_name"`
	State     string `json:"state"`
	Backend   string `json:"backend"`
	PID       int    `json:"pid"`
	Size      struct{ Cols, Rows int16 }
	Exit      *struct {
		Code int `json:"code"`
	} `json:"exit"`
}

func (w *world) sessions() []session {
	w.t.Helper()
	return get[struct{ Sessions []session }](w, "ls", "--all", "--sessions").Sessions
}

// only returns the one session of a workspace.
func (w *world) only(workspace string) session {
	w.t.Helper()
	all := w.sessions()
	found := slices.DeleteFunc(slices.Clone(all), func(s session) bool { return s.Workspace != workspace })
	if len(found) != 1 {
		w.t.Fatalf("the sessions are %+v: not one is in %s", all, workspace)
	}
	return found[0]
}
