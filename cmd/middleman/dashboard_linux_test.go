package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sync/errgroup"

	"middleman/terminal/vt"
)

var updateDashboard = flag.Bool("update-dashboard", false, "write the goldens of the dashboard's screens")

// quiet is how long a screen must stay the same before it is written as a golden.
const quiet = 2 * time.Second

// age is an age in a list, with the blanks before it.
var age = regexp.MustCompile(` +\d+[smhd]\b`)

// golden waits until the screen is the one of a file in testdata/dashboard, but for
// ages.
func (t *ptyTerminal) golden(name string) error {
	path := filepath.Join(testSource, "testdata", "dashboard", name+".txt")
	var last string
	look := func(text string) string {
		last = age.ReplaceAllStringFunc(text, func(s string) string { return strings.Repeat(" ", len(s)-3) + "AGE" })
		last = strings.TrimRight(last, "\n") + "\n"
		return last
	}
	if *updateDashboard {
		for before := "-"; before != last; {
			before = last
			<-time.After(quiet) // nobody tells that nothing more comes
			if err := t.awaitScreen(patience, func(text string) bool { look(text); return true }); err != nil {
				return err
			}
		}
		return os.WriteFile(path, []byte(last), 0o644)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	err = t.awaitScreen(patience, func(text string) bool { return look(text) == string(want) })
	if err != nil {
		err = errors.New("the screen is another one than " + path + " (go test -update-dashboard writes it)")
		return fmt.Errorf("%w:\n%s\nwant:\n%s", err, last, want)
	}
	return nil
}

// The picture in the README is a screen of the dashboard, but for ages and the lines
// without text.
func TestReadmePicture(t *testing.T) {
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	golden, err := os.ReadFile("testdata/dashboard/approval-80x24.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, picture, found := strings.Cut(string(page), "```\nmiddleman: ")
	picture, _, whole := strings.Cut("middleman: "+picture, "```")
	aged := func(text string) (lines []string) {
		for line := range strings.Lines(age.ReplaceAllString(text, " AGE")) {
			if line = strings.ReplaceAll(strings.TrimSpace(line), "  AGE", " AGE"); line != "" {
				lines = append(lines, line)
			}
		}
		return lines
	}
	got, want := aged(picture), aged(strings.ReplaceAll(string(golden), "AGE", " 3m"))
	if !found || !whole || !slices.Equal(got, want) {
		t.Errorf("the README shows\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// testSource is the directory of this package's sources. Scripts run elsewhere.
var testSource, _ = os.Getwd()

// cmdSessions starts sessions NAME/000, NAME/001 and so on, each of a program that
// does nothing.
func cmdSessions(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var starts errgroup.Group
	starts.SetLimit(8)
	for i := range n {
		starts.Go(func() error {
			cmd := command(ts, "middleman", "run", args[0], "-d", "--backend", "pty-owner", "--name", fmt.Sprintf("%03d", i), "--", "cat")
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("start session %d: %w: %s", i, err, out)
			}
			return nil
		})
	}
	ts.Check(starts.Wait())
}

// keyLimit is how long a key may take in the dashboard until its effect is drawn,
// where other tests run beside it. Alone it is less than 50 ms: the log has it.
const keyLimit = 500 * time.Millisecond

// cmdKeys types "j" so many times, each time waits until the next row is drawn as
// the selected one, and checks the median of the times. A machine that is busy
// otherwise gets three attempts.
func cmdKeys(ts *testscript.TestScript, _ bool, args []string) {
	t := ts.Value(terminals{}).(map[string]*ptyTerminal)[args[0]]
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	screen, fed, at := vt.New(vt.Options{Cols: 80, Rows: 24}), 0, 0
	selected := func(row int) error {
		want := fmt.Sprintf("\n> many/%03d ", row)
		return t.await(patience, func() bool {
			screen.Write(t.drawn[fed:])
			fed = len(t.drawn)
			return strings.Contains(screen.Text(vt.TextOptions{}), want)
		})
	}
	ts.Check(selected(0))
	var median time.Duration
	for range 3 {
		took := make([]time.Duration, n)
		for i := range took {
			began := time.Now()
			_, err := t.master.WriteString("j")
			ts.Check(err)
			at++
			ts.Check(selected(at))
			took[i] = time.Since(began)
		}
		slices.Sort(took)
		median = took[n/2]
		ts.Logf("a key takes %v, of %d keys the slowest %v", median, n, took[n-1])
		if median < keyLimit {
			return
		}
	}
	ts.Fatalf("a key takes %v in the median, more than %v", median, keyLimit)
}

// settled is how long a program must do nothing before that is believed.
const settled = 500 * time.Millisecond

// mark waits until the program on the terminal does nothing, and remembers what it
// has read and written so far.
func (t *ptyTerminal) mark() error {
	return waitFor("program that does nothing", patience, func() bool {
		before, err := t.calls()
		if err != nil {
			return false
		}
		<-time.After(settled) // what does not happen gives no event
		t.marked, err = t.calls()
		return err == nil && before == t.marked
	})
}

// same checks that it has neither read nor written since: so it asked nobody, and
// nothing has woken it. Go's runtime may have: after a collection of garbage it sets
// a timer, and wakes its own poller by writing eight bytes to an eventfd(2).
func (t *ptyTerminal) same() error {
	now, err := t.calls()
	if err != nil {
		return err
	}
	const wakes = 3
	woken := now.reads - t.marked.reads
	if woken > wakes || now != (ioCalls{t.marked.read + 8*woken, t.marked.written + 8*woken, t.marked.reads + woken, t.marked.writes + woken}) {
		return fmt.Errorf("it has read or written: %+v became %+v", t.marked, now)
	}
	return nil
}

// ioCalls has the first four counts of proc_pid_io(5): bytes, and calls.
type ioCalls struct{ read, written, reads, writes int64 }

// calls counts the reads and writes of the program on the terminal.
func (t *ptyTerminal) calls() (c ioCalls, err error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/io", t.cmd.Process.Pid))
	if err != nil {
		return c, err
	}
	_, err = fmt.Sscanf(string(raw), "rchar: %d\nwchar: %d\nsyscr: %d\nsyscw: %d", &c.read, &c.written, &c.reads, &c.writes)
	return c, err
}
