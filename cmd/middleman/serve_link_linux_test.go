package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"middleman/internal/testenv"
)

// serve prints a login link only where this user alone reads what it prints, or
// where somebody asks for the link.
func TestServePrintsItsLinkInPrivate(t *testing.T) {
	o := ordinary(t)
	for _, tt := range []struct {
		name string
		out  func(*testing.T) (theirs, ours *os.File)
		env  string
		args []string
		link bool
	}{
		{"a terminal", terminalPair, "", nil, true},
		{"a terminal whose shell a service started", terminalPair, "INVOCATION_ID=1 JOURNAL_STREAM=8:1", nil, true},
		{"the terminal of a session, which is watched", terminalPair, "MIDDLEMAN_SESSION=s0123456789abcdef", nil, false},
		{"a terminal that others read", openTerminal, "", nil, false},
		{"another user's terminal", foreignTerminal, "", nil, false},
		{"a pipe, as of a program that keeps a log", pipePair, "", nil, false},
		{"a pipe to journald", pipePair, "JOURNAL_STREAM=8:12345", nil, false},
		{"a pipe, asked for", pipePair, "JOURNAL_STREAM=8:12345", []string{"--print-link"}, true},
		{"a terminal on which no link is wanted", terminalPair, "", []string{"--print-link=false"}, false},
		{"a socket, as journald's", socketPair, "", nil, false},
		{"a file of this user's alone", logFile(0o600), "", nil, true},
		{"a file that others read", logFile(0o644), "", nil, false},
		{"a file that the group reads", logFile(0o640), "", nil, false},
		{"a file that others read, asked for", logFile(0o644), "", []string{"--print-link"}, true},
		{"a FIFO that others read", fifoPair, "", nil, false},
		{"a file of another user's alone", foreignFile, "", nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said := o.serveOnce(t, tt.out, strings.Fields(tt.env), tt.args...)
			if !strings.HasPrefix(said[0], "listening on http://127.0.0.1:") {
				t.Errorf("the first line is %q", said[0])
			}
			link := strings.HasPrefix(said[1], "log in with http://middleman-") && strings.Contains(said[1], "/#login=")
			without := said[1] == "log in with the link that `middleman open` prints"
			if link != tt.link || without == tt.link {
				t.Errorf("it printed %q", said[1])
			}
		})
	}
}

// serveOnce runs serve with one end of out as its standard output, until it has
// printed two lines, and returns them.
func (o *other) serveOnce(t *testing.T, out func(*testing.T) (theirs, ours *os.File), env []string, args ...string) []string {
	t.Helper()
	theirs, ours := out(t)
	cmd := o.command(append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr = append(cmd.Env, env...), theirs, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		cmd.Process.Signal(unix.SIGTERM)
		cmd.Wait()
	}()
	theirs.Close()
	var said []string
	var part string
	err := waitFor("two lines of serve", patience, func() bool {
		for r := bufio.NewReader(ours); len(said) < 2; {
			line, err := r.ReadString('\n')
			if part += line; err != nil {
				return !errors.Is(err, os.ErrDeadlineExceeded) && err.Error() != "EOF"
			}
			said, part = append(said, strings.TrimRight(part, "\r\n")), ""
		}
		return true
	})
	if err != nil || len(said) < 2 {
		t.Fatalf("serve printed %q: %v", said, err)
	}
	return said
}

func terminalPair(t *testing.T) (theirs, ours *os.File) {
	ours, theirs, err := pty.Open()
	return closing(t, theirs, ours, err)
}

// openTerminal is a terminal that others can read.
func openTerminal(t *testing.T) (theirs, ours *os.File) {
	theirs, ours = terminalPair(t)
	if err := theirs.Chmod(0o664); err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

// foreignTerminal is the terminal of somebody who became this user, as by su(1).
func foreignTerminal(t *testing.T) (theirs, ours *os.File) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a terminal away")
	}
	theirs, ours = terminalPair(t)
	if err := theirs.Chown(testenv.Stranger+1, -1); err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

func pipePair(t *testing.T) (theirs, ours *os.File) {
	ours, theirs, err := os.Pipe()
	return closing(t, theirs, ours, err)
}

func socketPair(t *testing.T) (theirs, ours *os.File) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	return closing(t, os.NewFile(uintptr(fds[0]), "theirs"), os.NewFile(uintptr(fds[1]), "ours"), err)
}

func logFile(mode os.FileMode) func(*testing.T) (theirs, ours *os.File) {
	return func(t *testing.T) (theirs, ours *os.File) {
		path := filepath.Join(t.TempDir(), "log")
		theirs, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, mode)
		ours, openErr := os.Open(path)
		return closing(t, theirs, ours, errors.Join(err, os.Chmod(path, mode), openErr))
	}
}

// foreignFile needs root.
func foreignFile(t *testing.T) (theirs, ours *os.File) {
	if os.Geteuid() != 0 {
		t.Skip("only root can give a file away")
	}
	theirs, ours = logFile(0o600)(t)
	if err := theirs.Chown(testenv.Stranger+1, testenv.Stranger+1); err != nil {
		t.Fatal(err)
	}
	return theirs, ours
}

func fifoPair(t *testing.T) (theirs, ours *os.File) {
	path := filepath.Join(t.TempDir(), "fifo")
	err := errors.Join(unix.Mkfifo(path, 0o600), os.Chmod(path, 0o644))
	ours, openErr := os.OpenFile(path, os.O_RDWR, 0)
	theirs, thereErr := os.OpenFile(path, os.O_WRONLY, 0)
	return closing(t, theirs, ours, errors.Join(err, openErr, thereErr))
}

func closing(t *testing.T, theirs, ours *os.File, err error) (_, _ *os.File) {
	t.Helper()
	if err != nil {
		t.Fatal(fmt.Errorf("make standard output: %w", err))
	}
	t.Cleanup(func() { ours.Close() })
	return theirs, ours
}
