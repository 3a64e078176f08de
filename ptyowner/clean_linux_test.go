package ptyowner_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"middleman/terminal"
)

// The script reads its status without a fork: around one, a shell blocks all
// signals for a moment.

// The program starts as clean as from a login: its terminal and nothing else
// is open, no signal is ignored or blocked, its environment is what was given,
// and it leads a session of its own.
func TestProgramStartsClean(t *testing.T) {
	leak, err := os.Open(os.DevNull) // a descriptor that a careless starter left inheritable
	if err != nil {
		t.Fatal(err)
	}
	defer leak.Close()
	inherited, err := syscall.Dup(int(leak.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	t.Setenv("MIDDLEMAN_TEST_SECRET", "secret-of-the-server")

	data, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`ls -l /proc/$$/fd; while read l; do case $l in Sig*) echo "$l";; esac; done </proc/$$/status; tr '\0' '\n' </proc/$$/environ; umask; awk '{print "ids", $1, $5, $6}' /proc/$$/stat; echo DONE; exec sleep 1000`)
	status := start(t, b, s, nil)
	if err := waitText(b.Session(s.ID), "DONE"); err != nil {
		t.Fatal(err)
	}
	c, err := b.Session(s.ID).Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText, Scrollback: true})
	if err != nil {
		t.Fatal(err)
	}
	text := string(c.Data)
	for _, want := range []string{"SigBlk:\t", "MIDDLEMAN_SESSION=" + s.ID, "TERM=" + termName(), "COLORTERM=truecolor"} {
		if !strings.Contains(strings.ReplaceAll(text, "  ", "\t"), want) && !strings.Contains(text, strings.TrimSpace(want)) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		switch {
		case len(fields) > 3 && fields[len(fields)-2] == "->":
			if !strings.HasPrefix(fields[len(fields)-1], "/dev/pts/") {
				t.Errorf("descriptor %s", strings.Join(fields[len(fields)-3:], " "))
			}
		case len(fields) == 2 && (fields[0] == "SigIgn:" || fields[0] == "SigBlk:"):
			if strings.Trim(fields[1], "0") != "" {
				t.Errorf("%s", line)
			}
		case len(fields) == 4 && fields[0] == "ids":
			if fields[1] != fields[2] || fields[1] != fields[3] {
				t.Errorf("pid, process group and session differ: %s", line)
			}
		}
	}
	for _, pid := range []int{status.PID, ownerPID(t, data, s.ID)} {
		environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "environ"))
		if err != nil && !(pid != status.PID && hidden(err)) {
			t.Fatal(err)
		}
		if strings.Contains(string(environ), "secret-of-the-server") {
			t.Errorf("process %d has the server's environment", pid)
		}
		cmdline, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(cmdline), "token") {
			t.Errorf("process %d has a token in its arguments", pid)
		}
	}
}

// An owner that was started by a process that ignores SIGHUP, as nohup(1)
// does, still starts a program that does not.
func TestIgnoredSignalsAreNotInherited(t *testing.T) {
	if os.Getenv("MIDDLEMAN_TEST_NOHUP") == "" {
		exe, err := os.Executable()
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("/bin/sh", "-c", `trap "" HUP INT TERM USR1; exec "$0" -test.run '^TestIgnoredSignalsAreNotInherited$'`, exe)
		cmd.Env = append(os.Environ(), "MIDDLEMAN_TEST_NOHUP=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return
	}
	_, newBackend := newBackends(t)
	b := newBackend()
	s := spec(`while read l; do case $l in SigIgn*) echo "$l";; esac; done </proc/$$/status; echo DONE; exec sleep 1000`)
	start(t, b, s, nil)
	if err := waitText(b.Session(s.ID), "DONE"); err != nil {
		t.Fatal(err)
	}
	c, err := b.Session(s.ID).Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText})
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(c.Data))
	if len(fields) < 2 || strings.Trim(fields[1], "0") != "" {
		t.Errorf("the program ignores signals: %s", c.Data)
	}
}
