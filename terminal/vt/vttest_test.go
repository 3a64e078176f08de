//go:build unix

package vt

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
)

// vttest is the program of that name on a PTY, with a Terminal as its
// terminal: what it prints is drawn, and what it asks is answered.
type vttest struct {
	t       *testing.T
	h       *harness
	pty     *os.File
	printed chan []byte // what was read; closed at the end
	seen    []byte      // printed since the last key
}

func startVttest(t *testing.T) *vttest {
	t.Helper()
	path, err := exec.LookPath("vttest")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatal("vttest is not installed: apt-get install vttest")
	}
	if err != nil {
		t.Skip("vttest is not installed: apt-get install vttest")
	}
	cmd := exec.Command(path)
	cmd.Env = []string{"TERM=xterm-256color", "LANG=C.UTF-8"}
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	v := &vttest{t: t, h: newHarness(80, 24), pty: terminal, printed: make(chan []byte, 16)}
	quit := make(chan struct{})
	done := make(chan struct{})
	go func() {
		defer close(done)
		v.read(quit)
	}()
	t.Cleanup(func() {
		close(quit)
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		_ = terminal.Close()
		<-done
	})
	return v
}

// read hands on what the program prints until it ends.
func (v *vttest) read(quit chan struct{}) {
	defer close(v.printed)
	for {
		buf := make([]byte, 4096)
		n, err := v.pty.Read(buf)
		select {
		case v.printed <- buf[:n]:
		case <-quit:
			return
		}
		if err != nil {
			return // the PTY's other side is closed
		}
	}
}

// send types keys.
func (v *vttest) send(keys string) {
	v.t.Helper()
	v.seen = v.seen[:0]
	if _, err := v.pty.WriteString(keys); err != nil {
		v.t.Fatal(err)
	}
}

// await draws and answers until the program has printed one of the prompts.
func (v *vttest) await(prompts ...string) string {
	v.t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	for {
		for _, prompt := range prompts {
			if bytes.Contains(v.seen, []byte(prompt)) {
				return prompt
			}
		}
		select {
		case b, ok := <-v.printed:
			if !ok {
				v.t.Fatalf("vttest ended before %q", prompts)
			}
			v.draw(b)
		case <-deadline.C:
			v.t.Fatalf("vttest did not print %q; screen:\n%s", prompts, v.text())
		}
	}
}

func (v *vttest) draw(b []byte) {
	v.t.Helper()
	v.seen = append(v.seen, b...)
	_, _ = v.h.Write(b)
	if len(v.h.answers) == 0 {
		return
	}
	if _, err := v.pty.Write(v.h.answers); err != nil {
		v.t.Fatal(err)
	}
	v.h.answers = v.h.answers[:0]
}

func (v *vttest) text() string { return strings.Join(v.h.screen().Rows, "\n") }

// vttestPrompts end each page of vttest.
var vttestPrompts = []string{"Push <RETURN>", "Enter choice number"}

// choose goes from menu to menu; it returns the page that the last choice made.
func (v *vttest) choose(choices string) string {
	v.t.Helper()
	v.await(vttestPrompts...)
	for choice := range strings.SplitSeq(choices, " ") {
		v.send(choice + "\r")
		v.await(vttestPrompts...)
	}
	return v.text()
}

// TestVttestReports asks vttest whether it likes the answers to its queries.
func TestVttestReports(t *testing.T) {
	tests := []struct{ name, choices, want string }{
		{"status", "6 3", `means "TERMINAL OK"`},
		{"cursor position", "6 3", "<27> [ 5 ; 1 R  -- OK"},
		{"primary attributes", "6 4", "means VT100 with AVO"},
		{"secondary attributes", "6 5", "ROM cartridge registration number ok"},
		{"tertiary attributes", "6 6", `<27> \  ok`},
		{"keyboard", "11 1 1 1 1", "keyboard ready"},
		{"operating status", "11 1 1 1 2", "good operating condition"},
		{"printer", "11 1 1 1 3", "No printer"},
		{"user-defined keys", "11 1 1 1 4", "UDKs locked"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			page := startVttest(t).choose(tt.choices)
			if !strings.Contains(page, tt.want) || strings.Contains(page, "Unknown") {
				t.Errorf("vttest does not say %q:\n%s", tt.want, page)
			}
		})
	}
}

// TestVttestMargins has vttest draw a box of stars around the left half of the
// screen and overwrite it by moving within left and right margins, which
// xterm.js does not have and the goldens so cannot show.
func TestVttestMargins(t *testing.T) {
	for name, choice := range map[string]string{"cursor movement": "9", "CR HT LF FF": "10"} {
		t.Run(name, func(t *testing.T) {
			page := startVttest(t).choose("11 3 2 3 5 " + choice)
			rows := strings.Split(page, "\n")
			for i, row := range rows {
				inner := row[1:39]
				want := "l" + inner + "r"
				switch {
				case i == 0:
					want = strings.Repeat("u", 40)
				case i == len(rows)-1:
					want = strings.Repeat("d", 40)
				case i >= 11 && i <= 13: // vttest writes its text there
					continue
				}
				if row != want+strings.Repeat(".", 40) {
					t.Errorf("row %d is %q, want %q and 40 dots", i, row, want)
				}
			}
		})
	}
}
