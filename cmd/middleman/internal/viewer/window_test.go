package viewer

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// watched is a window with what it shows: out is a terminal of its size, and
// session one that has seen what the program printed, and no window.
type watched struct {
	*window
	shows   *vt.Terminal
	session *vt.Terminal
	raw     bytes.Buffer // what was written to out
}

func watch(size, session terminal.Size) *watched {
	w := &watched{
		shows:   vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows)}),
		session: vt.New(vt.Options{Cols: int(session.Cols), Rows: int(session.Rows)}),
	}
	out := writerFunc(func(p []byte) { w.shows.Write(p); w.raw.Write(p) })
	w.window = newWindow(out, newScreenTracker(), size, session)
	w.tells = false
	return w
}

type writerFunc func(p []byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

func (w *watched) print(t *testing.T, text string) {
	t.Helper()
	w.session.Write([]byte(text))
	if err := w.write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

// check compares what is to be seen with the part of the session that it is
// said to be.
func (w *watched) check(t *testing.T, when string) {
	t.Helper()
	if err := w.finish(); err != nil {
		t.Fatal(err)
	}
	cols, rows := w.shows.Size()
	got, want := w.shows.View(0, 0, cols, rows, nil), w.session.View(w.left, w.top, cols, rows, nil)
	if !slices.Equal(got, want) {
		t.Fatalf("%s: %dx%d from %d,%d:\n%s\nwant\n%s", when, cols, rows, w.left, w.top, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	at, see := w.session.Cursor(), w.shows.Cursor()
	if !at.Visible || w.panned {
		return
	}
	if see.Col+w.left != at.Col || see.Row+w.top != at.Row || !see.Visible {
		t.Fatalf("%s: cursor %+v in a window from %d,%d of %+v", when, see, w.left, w.top, at)
	}
}

// A full screen in a smaller terminal: the part that the cursor is in, or that
// the user has chosen.
func TestWindowShowsAPart(t *testing.T) {
	w := watch(terminal.Size{Cols: 8, Rows: 3}, terminal.Size{Cols: 20, Rows: 6})
	w.print(t, "\x1b[?1049h\x1b[2J")
	for row := range 6 {
		w.print(t, fmt.Sprintf("\x1b[%d;1H%d-234567890123456789", row+1, row))
	}
	steps := []struct {
		name, prints, keys string
		want               string
	}{
		{"the cursor in the corner", "\x1b[H", "", "0-234567\n1-234567\n2-234567\n"},
		{"below", "\x1b[5;3H", "", "2-234567\n3-234567\n4-234567\n"},
		{"one line up: nothing moves", "\x1b[4;3H", "", "2-234567\n3-234567\n4-234567\n"},
		{"at the right edge", "\x1b[4;20H", "", "23456789\n23456789\n23456789\n"},
		{"hidden: nothing moves", "\x1b[?25l\x1b[H", "", "23456789\n23456789\n23456789\n"},
		{"an arrow", "", "\x1b[D", "89012345\n89012345\n89012345\n"},
		{"two in the other form", "", "\x1bOA\x1bOA", "89012345\n89012345\n89012345\n"},
		{"beyond the edge", "", "\x1b[D\x1b[D\x1b[D\x1b[D", "0-234567\n1-234567\n2-234567\n"},
		{"the cursor elsewhere, after an arrow", "\x1b[?25h\x1b[6;1H", "", "0-234567\n1-234567\n2-234567\n"},
		{"another key", "", " ", "3-234567\n4-234567\n5-234567\n"},
		{"the main screen", "\x1b[?1049l", "", ""},
	}
	for _, s := range steps {
		w.print(t, s.prints)
		if s.keys != "" {
			w.keys([]byte(s.keys))
		}
		w.check(t, s.name)
		if got := w.shows.Text(vt.TextOptions{}); got != s.want {
			t.Errorf("%s:\n%swant\n%s", s.name, got, s.want)
		}
	}
	if w.tracker.alternate {
		t.Error("the terminal is left on the alternate screen")
	}
}

// The last row says whose size it is, and which part of it is shown.
func TestWindowSaysWhoseSize(t *testing.T) {
	w := watch(terminal.Size{Cols: 80, Rows: 5}, terminal.Size{Cols: 100, Rows: 6})
	w.tells = true
	for row := range 6 {
		w.print(t, fmt.Sprintf("\x1b[%d;1Hrow-%d", row+1, row))
	}
	w.print(t, "\x1b[H")
	status := func(want string) {
		t.Helper()
		if err := w.finish(); err != nil {
			t.Fatal(err)
		}
		text := w.shows.Text(vt.TextOptions{})
		if lines := strings.Split(text, "\n"); lines[4] != want {
			t.Errorf("shown:\n%s\nwant %q in the last row", text, want)
		}
	}
	status("100x6 of its last terminal, columns 1-80, rows 1-4: arrows move, q leaves")
	if err := w.setWriter(true); err != nil {
		t.Fatal(err)
	}
	w.keys([]byte("\x1b[B\x1b[C"))
	status("100x6 of the attached terminal, columns 21-100, rows 3-6: arrows move, q leaves")
	for cols, want := range map[uint16]string{
		60: "100x6 of the attached terminal: arrows move, q leaves", 40: "100x6: arrows move, q leaves", 20: "100x6", 3: "10…",
	} {
		w.shows.Resize(int(cols), 5)
		if err := w.resizeTerminal(terminal.Size{Cols: cols, Rows: 5}); err != nil {
			t.Fatal(err)
		}
		status(want)
	}
}

// Where the sizes are the same each byte passes, and when they come to be the
// terminal has the whole state.
func TestWindowPassesBytes(t *testing.T) {
	w := watch(terminal.Size{Cols: 20, Rows: 4}, terminal.Size{Cols: 20, Rows: 4})
	const text = "\x1b[31mred\x1b]1337;File=inline=1:AAAA\a\x1b_Gf=100;AAAA\x1b\\\a\r\n"
	w.print(t, text)
	if got := w.raw.String(); got != text {
		t.Errorf("passed %q, want %q", got, text)
	}
	w.session.Resize(30, 4)
	if err := w.resizeSession(terminal.Size{Cols: 30, Rows: 4}); err != nil {
		t.Fatal(err)
	}
	w.print(t, "\x1b[2;4r\x1b[4;1Hbottom\a")
	w.check(t, "wider")
	w.session.Resize(20, 4)
	if err := w.resizeSession(terminal.Size{Cols: 20, Rows: 4}); err != nil {
		t.Fatal(err)
	}
	w.raw.Reset()
	w.print(t, "\r\nscrolled within margins")
	w.check(t, "as wide again")
	if got := w.raw.String(); got != "\r\nscrolled within margins" {
		t.Errorf("passed %q", got)
	}
}

// What does not show on the screen comes through a window too, and nothing that
// a terminal would answer.
func TestWindowTells(t *testing.T) {
	w := watch(terminal.Size{Cols: 10, Rows: 3}, terminal.Size{Cols: 20, Rows: 6})
	w.print(t, "\a\x1b]2;title\a\x1b]9;note\a\x1b]9;4;1;50\a\x1b]52;c;aGk=\a\x1b]52;c;?\a\x1b[c\x1b[6n\x1b[>q\x1b[?1003h")
	w.check(t, "told")
	for _, want := range []string{"\a", "\x1b]2;title\x1b\\", "\x1b]9;note\x1b\\", "\x1b]9;4;1;50\x1b\\", "\x1b]52;c;aGk=\x1b\\"} {
		if !strings.Contains(w.raw.String(), want) {
			t.Errorf("%q lacks %q", w.raw.String(), want)
		}
	}
	for _, not := range []string{"?\x1b\\", "\x1b[c", "\x1b[6n", "\x1b[>q", "\x1b[?1003h"} {
		if strings.Contains(w.raw.String(), not) {
			t.Errorf("%q holds %q", w.raw.String(), not)
		}
	}
}

// The past goes into the terminal's scrollback, once.
func TestWindowPast(t *testing.T) {
	w := watch(terminal.Size{Cols: 10, Rows: 2}, terminal.Size{Cols: 20, Rows: 3})
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	const snapshot = "1\r\n2\r\n3\r\n4\r\n5"
	w.print(t, snapshot)
	w.check(t, "snapshot")
	if got, want := w.shows.Text(vt.TextOptions{Scrollback: true}), "1\n2\n4\n5\n"; !strings.HasPrefix(got, "1\n2\n") || !strings.HasSuffix(got, "4\n5\n") {
		t.Errorf("got %q, want the lines of %q", got, want)
	}
	w.session = vt.New(vt.Options{Cols: 20, Rows: 3})
	if err := w.restart(); err != nil {
		t.Fatal(err)
	}
	w.print(t, snapshot)
	w.check(t, "another snapshot")
	if n := strings.Count(w.raw.String(), "1\r\n"); n != 1 {
		t.Errorf("the past was drawn %d times", n)
	}
}

// A terminal that takes no more is an error of the next write.
func TestWindowOfABrokenTerminal(t *testing.T) {
	broken := errors.New("broken")
	w := newWindow(failing{broken}, newScreenTracker(), terminal.Size{Cols: 10, Rows: 2}, terminal.Size{Cols: 20, Rows: 3})
	w.write([]byte("a")) // drawn at once, or soon
	if err := w.finish(); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
	if err := w.write([]byte("b")); !errors.Is(err, broken) {
		t.Errorf("%v, want %v", err, broken)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

// Whatever a program prints, whichever sizes there are, and however often they
// change, the window shows what the session does.
func TestWindowModel(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 13))
			size := func() terminal.Size {
				return terminal.Size{Cols: uint16(2 + r.IntN(30)), Rows: uint16(1 + r.IntN(10))}
			}
			w := watch(size(), size())
			w.past = true
			for step := range 60 {
				switch r.IntN(12) {
				case 0:
					s := size()
					w.session.Resize(int(s.Cols), int(s.Rows))
					w.resizeSession(s)
				case 1:
					s := size()
					w.shows.Resize(int(s.Cols), int(s.Rows))
					w.resizeTerminal(s)
				case 2: // the same for both
					s := size()
					w.shows.Resize(int(s.Cols), int(s.Rows))
					w.resizeTerminal(s)
					w.session.Resize(int(s.Cols), int(s.Rows))
					w.resizeSession(s)
				case 3:
					w.keys([]byte([]string{"\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", " "}[r.IntN(5)]))
				default:
					w.print(t, something(r))
				}
				w.check(t, fmt.Sprintf("step %d", step))
			}
		})
	}
}

// something is what a program might print.
func something(r *rand.Rand) string {
	parts := []string{
		"text ", "\r\n", "一二三", "👩‍👧", "e\u0301", "\t", "\b", "\x1b[1;31m", "\x1b[m", "\x1b[44m", "\x1b[7m", "\x1b[K", "\x1b[2J", "\x1b[J",
		"\x1b[L", "\x1b[M", "\x1b[3P", "\x1b[2@", "\x1b[5X", "\x1bM", "\x1bD", "\x1b[?1049h", "\x1b[?1049l", "\x1b[?25l", "\x1b[?25h",
		"\x1b[?6h", "\x1b[?6l", "\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b7", "\x1b8", "\x1bc", "\x1b[!p", "\x1b(0lqk\x1b(B", "\x1b[3 q",
		"\x1b[?69h\x1b[2;9s", "\x1b[?69l", "\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "\x1b]2;title", "\x1b[", "\xe4\xb8",
	}
	var b strings.Builder
	for range 1 + r.IntN(8) {
		switch r.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "\x1b[%d;%dH", 1+r.IntN(12), 1+r.IntN(32))
		case 1:
			fmt.Fprintf(&b, "\x1b[%d;%dr", 1+r.IntN(6), 1+r.IntN(12))
		default:
			b.WriteString(parts[r.IntN(len(parts))])
		}
	}
	return b.String()
}
