package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"

	"middleman/terminal/vt"
)

// ptyTerminal is a user's terminal with a program on it. What the program
// prints on standard error is kept apart from what it draws.
type ptyTerminal struct {
	cmd    *exec.Cmd
	master *os.File
	before unix.Termios // settings when the program started
	done   sync.WaitGroup
	marked ioCalls // see mark

	// mu guards the rest.
	mu      sync.Mutex
	changed chan struct{} // closed and replaced at each change
	drawn   []byte
	errs    []byte
	seen    int // how much of drawn an expect has consumed
	ended   int // of the two readers
}

type terminals struct{} // key of testscript's Env.Values

// cmdTerm drives terminals:
//
//	term start NAME COMMAND...     term type NAME TEXT (a Go string without quotes)
//	term expect NAME TEXT          term bytes NAME N (drawn so far, at least)
//	term shows NAME TEXT           (what was drawn, on a screen of its size)
//	term looks NAME FILE           (that screen has the lines of FILE, no others)
//	term golden NAME GOLDEN        (that screen, but for ages, is one of testdata/dashboard)
//	term mark NAME                 term same NAME (has read and written nothing since)
//	term said NAME TEXT            on standard error
//	term exit NAME CODE            term save NAME FILE
//	term resize NAME COLS ROWS     term kill NAME SIGNAL
//	term paste NAME N (bytes)      term completes NAME TEXT SHOWN (in a shell, at an empty line)
func cmdTerm(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: term VERB NAME ARGUMENT...")
	}
	all := ts.Value(terminals{}).(map[string]*ptyTerminal)
	verb, name, rest := args[0], args[1], args[2:]
	var err error
	if verb == "start" {
		t, startErr := startTerminal(ts, rest)
		all[name], err = t, startErr
	} else if t := all[name]; t == nil {
		err = errors.New("no such terminal")
	} else {
		err = t.do(ts, verb, rest)
	}
	if err != nil {
		ts.Fatalf("term %s %s: %v", verb, name, err)
	}
}

func startTerminal(ts *testscript.TestScript, command []string) (*ptyTerminal, error) {
	path, err := exec.LookPath(command[0])
	if found := ts.Getenv("PATH"); err != nil && found != "" {
		path, err = lookPath(command[0], found)
	}
	if err != nil {
		return nil, err
	}
	t := &ptyTerminal{cmd: exec.Command(path, command[1:]...), changed: make(chan struct{})}
	t.cmd.Dir, t.cmd.Env = ts.MkAbs("."), environ(ts)
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	defer slave.Close()
	if err := pty.Setsize(slave, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		return nil, err
	}
	settings, err := unix.IoctlGetTermios(int(slave.Fd()), unix.TCGETS)
	if err != nil {
		return nil, err
	}
	t.before, t.master = *settings, master
	errsR, errsW, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	t.cmd.Stdin, t.cmd.Stdout, t.cmd.Stderr = slave, slave, errsW
	t.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	err = t.cmd.Start()
	errsW.Close()
	if err != nil {
		return nil, err
	}
	t.done.Go(func() { t.collect(master, &t.drawn) })
	t.done.Go(func() { t.collect(errsR, &t.errs) })
	ts.Defer(func() {
		t.cmd.Process.Kill()
		master.Close()
		errsR.Close()
		t.done.Wait()
		t.cmd.Wait()
	})
	return t, nil
}

func (t *ptyTerminal) collect(r io.Reader, into *[]byte) {
	buf := make([]byte, 64<<10)
	for {
		n, err := r.Read(buf)
		t.mu.Lock()
		*into = append(*into, buf[:n]...)
		if err != nil {
			t.ended++
		}
		close(t.changed)
		t.changed = make(chan struct{})
		t.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// await waits until done, which is called with mu held, is true.
func (t *ptyTerminal) await(limit time.Duration, done func() bool) error {
	deadline := time.After(limit)
	for {
		t.mu.Lock()
		ok, changed, ended := done(), t.changed, t.ended == 2
		tail := t.drawn[max(0, len(t.drawn)-300):]
		errs := t.errs
		t.mu.Unlock()
		if ok {
			return nil
		}
		if ended {
			return fmt.Errorf("the program ended; drawn: %q; said: %q", tail, errs)
		}
		select {
		case <-changed:
		case <-deadline:
			return fmt.Errorf("not within %s; drawn: %q; said: %q", limit, tail, errs)
		}
	}
}

// awaitScreen waits until done, which gets the text on a screen of the terminal's
// size, is true.
func (t *ptyTerminal) awaitScreen(limit time.Duration, done func(text string) bool) error {
	size, err := pty.GetsizeFull(t.master)
	if err != nil {
		return err
	}
	return t.await(limit, func() bool {
		screen := vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows)})
		screen.Write(t.drawn)
		return done(screen.Text(vt.TextOptions{}))
	})
}

func (t *ptyTerminal) do(ts *testscript.TestScript, verb string, args []string) error {
	switch verb {
	case "type":
		text, err := strconv.Unquote(`"` + args[0] + `"`)
		if err != nil {
			return err
		}
		_, err = io.WriteString(t.master, text)
		return err
	case "paste":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		_, err = t.master.Write(bytes.Repeat([]byte("x"), n))
		return err
	case "expect":
		text, err := strconv.Unquote(`"` + args[0] + `"`)
		if err != nil {
			return err
		}
		return t.await(patience, func() bool { return t.take(text) })
	case "shows":
		return t.awaitScreen(patience, func(text string) bool { return strings.Contains(text, args[0]) })
	case "completes":
		text, err := strconv.Unquote(`"\x15` + args[0] + `"`) // ctrl-U empties the line
		if err != nil {
			return err
		}
		for range 6 { // completion gives up after a second
			if _, err = io.WriteString(t.master, text); err != nil {
				return err
			}
			if err = t.awaitScreen(patience/6, func(text string) bool { return strings.Contains(text, args[1]) }); err == nil {
				return nil
			}
		}
		return err
	case "looks":
		want := strings.TrimSpace(ts.ReadFile(args[0]))
		return t.awaitScreen(patience, func(text string) bool { return strings.TrimSpace(text) == want })
	case "golden":
		return t.golden(args[0])
	case "mark":
		return t.mark()
	case "same":
		return t.same()
	case "bytes":
		n, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return t.await(patience, func() bool { return len(t.drawn) >= n })
	case "said":
		return t.await(patience, func() bool { return bytes.Contains(t.errs, []byte(args[0])) })
	case "exit":
		return t.exit(args[0])
	case "save":
		t.mu.Lock()
		defer t.mu.Unlock()
		return os.WriteFile(ts.MkAbs(args[0]), t.drawn, 0o600)
	case "resize":
		cols, err := strconv.Atoi(args[0])
		rows, err2 := strconv.Atoi(args[1])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		return pty.Setsize(t.master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	case "kill":
		return t.cmd.Process.Signal(unix.SignalNum(args[0]))
	}
	return fmt.Errorf("there is no verb %q", verb)
}

// take looks for text behind what was taken before.
func (t *ptyTerminal) take(text string) bool {
	at := bytes.Index(t.drawn[t.seen:], []byte(text))
	if at >= 0 {
		t.seen += at + len(text)
	}
	return at >= 0
}

// exit waits for the program's end. The terminal must be as it was.
func (t *ptyTerminal) exit(want string) error {
	err := waitFor("end of the program", patience, func() bool { return !alive(t.cmd.Process.Pid) })
	if err != nil {
		return err
	}
	t.done.Wait()
	t.cmd.Wait()
	if got := fmt.Sprint(t.cmd.ProcessState.ExitCode()); got != want {
		return fmt.Errorf("exit code %s, want %s; said: %q", got, want, t.errs)
	}
	after, err := unix.IoctlGetTermios(int(t.master.Fd()), unix.TCGETS)
	if err == nil && *after != t.before {
		return fmt.Errorf("the terminal's settings are %+v, were %+v", *after, t.before)
	}
	return nil
}
