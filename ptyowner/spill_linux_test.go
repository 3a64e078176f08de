package ptyowner_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"middleman/ptyowner"
	"middleman/terminal"
	"middleman/terminal/vt"
)

// manyLines is a session with more output than its scrollback holds, and what
// its screen then shows.
func manyLines(t *testing.T, b *ptyowner.Backend) (terminal.Spec, terminal.Session, string) {
	t.Helper()
	const lines = 60000
	s := spec("seq -f 'line %.0f of the output of a program' " + strconv.Itoa(lines) + "; printf READY; exec cat")
	s.JournalBytes = 0
	start(t, b, s, nil)
	session := b.Session(s.ID)
	if err := waitText(session, "READY"); err != nil {
		t.Fatal(err)
	}
	want := vt.New(vt.Options{Cols: int(s.Size.Cols), Rows: int(s.Size.Rows), ScrollbackBytes: s.ScrollbackBytes})
	want.Write([]byte(output(t, session)))
	return s, session, want.Text(vt.TextOptions{Scrollback: true})
}

// captured is the screen with its scrollback.
func captured(t *testing.T, s terminal.Session) string {
	t.Helper()
	c, err := s.Capture(context.Background(), terminal.CaptureOptions{Format: terminal.FormatText, Scrollback: true})
	if err != nil {
		t.Fatal(err)
	}
	return string(c.Data)
}

// The scrollback is in a file without a name, and is the same there as in
// memory, also after another image has taken over.
func TestScrollbackIsInAFile(t *testing.T) {
	data, newBackend := newBackends(t)
	b := newBackend()
	s, session, want := manyLines(t, b)
	if strings.Count(want, "\n") < 10000 {
		t.Fatalf("only %d lines", strings.Count(want, "\n"))
	}
	for _, when := range []string{"first", "again", "after an upgrade"} {
		if got := captured(t, session); got != want {
			t.Errorf("%s: %d bytes, want %d", when, len(got), len(want))
		}
		owner := ownerPID(t, data, s.ID)
		if executed(t, owner) == "" {
			t.Log("only root sees an owner's files here")
		} else if open := strings.Join(descriptors(t, owner), "\n"); strings.Count(open, ".scrollback-") != 1 {
			t.Errorf("%s: the owner has open\n%s", when, open)
		}
		if when == "again" {
			upgradeOwner(t, b, s.ID, otherImage(t))
		}
	}
}
