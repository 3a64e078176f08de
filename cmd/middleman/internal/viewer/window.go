package viewer

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"middleman/internal/plaintext"
	"middleman/terminal"
	"middleman/terminal/vt"
)

// drawEvery is the shortest time between two drawings of a window; people see
// no more.
const drawEvery = 33 * time.Millisecond

// window shows a session to a watcher whose terminal may have another size. If
// the sizes are equal, bytes pass unchanged. Otherwise the terminal would wrap
// and scroll differently. Then window keeps the session's screen itself, and
// draws the part around the cursor, without the pictures and colours that the
// program has defined.
type window struct {
	mu      sync.Mutex // guards the rest
	out     io.Writer
	tracker *screenTracker
	screen  *vt.Terminal // has the session's size
	size    terminal.Size
	err     error // the first error of writing, for the next caller

	tells  bool // the last row tells the session's size
	writer bool // a writer is attached, so the size is its terminal's

	left, top int  // the screen's column and row in the terminal's top left corner
	panned    bool // the user moved the window, so it does not follow the cursor

	// What the terminal shows, if drawn is set.
	drawn     bool
	lines     []string
	status    string
	title     string
	alternate bool

	past  bool   // the lines before the screen were drawn
	told  []byte // bells and the like, for the next drawing
	last  time.Time
	timer *time.Timer // nil if no drawing is due
}

// newWindow returns a window for a terminal of that size on a session of the
// other size.
func newWindow(out io.Writer, tracker *screenTracker, size, session terminal.Size) *window {
	w := &window{out: out, tracker: tracker, size: size, tells: true}
	w.screen = w.blank(int(session.Cols), int(session.Rows))
	return w
}

func (w *window) blank(cols, rows int) *vt.Terminal {
	return vt.New(vt.Options{Cols: cols, Rows: rows, Event: w.event})
}

// fits reports whether bytes can pass unchanged.
func (w *window) fits() bool {
	cols, rows := w.screen.Size()
	return cols == int(w.size.Cols) && rows == int(w.size.Rows)
}

// rows returns how many rows of the session the terminal shows.
func (w *window) rows() int {
	if !w.tells || w.size.Rows < 3 {
		return int(w.size.Rows)
	}
	return int(w.size.Rows) - 1
}

// setWriter says whether a writer is attached.
func (w *window) setWriter(attached bool) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writer = attached; !w.fits() {
		w.drawSoon()
	}
	return w.err
}

// write takes the session's output. It draws it now or starts a timer for that.
func (w *window) write(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.screen.Write(p)
	if w.fits() {
		w.past = true
		w.pass(p)
	} else {
		w.drawSoon()
	}
	return w.err
}

// pass writes to the terminal and keeps the first error.
func (w *window) pass(p []byte) {
	w.tracker.observe(p)
	if _, err := w.out.Write(p); err != nil && w.err == nil {
		w.err = err
	}
}

// between writes text if the terminal is not within a sequence of the program's,
// and reports whether it did.
func (w *window) between(text string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fits() && !w.tracker.between() {
		return false
	}
	if _, err := io.WriteString(w.out, text); err != nil && w.err == nil {
		w.err = err
	}
	return true
}

// restart clears the screen before a snapshot.
func (w *window) restart() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.screen = w.blank(w.screen.Size())
	if w.fits() {
		w.pass([]byte(w.tracker.clear()))
	}
	return w.err
}

// resizeSession sets the session's new size.
func (w *window) resizeSession(size terminal.Size) error {
	return w.resize(func() { w.screen.Resize(int(size.Cols), int(size.Rows)) })
}

// resizeTerminal sets the terminal's new size.
func (w *window) resizeTerminal(size terminal.Size) error {
	return w.resize(func() { w.size = size })
}

// resize changes a size. It redraws everything unless bytes pass before and
// after.
func (w *window) resize(change func()) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	passed := w.fits()
	change()
	switch {
	case !w.fits():
		w.drawn, w.lines = w.drawn && !passed, nil
		w.drawSoon()
	case !passed:
		w.stopTimer()
		w.drawn, w.left, w.top = false, 0, 0
		w.pass(w.screen.AppendSnapshot([]byte(w.tracker.clear()), vt.SnapshotOptions{}))
	}
	return w.err
}

// keys takes a watcher's keys. Arrows move the window, any other key makes it
// follow the cursor again.
func (w *window) keys(p []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.fits() {
		return
	}
	w.panned = false
	for _, a := range arrows {
		if n := bytes.Count(p, []byte("\x1b["+a.final)) + bytes.Count(p, []byte("\x1bO"+a.final)); n > 0 {
			w.panned = true
			w.left += n * a.cols * max(1, int(w.size.Cols)/2)
			w.top += n * a.rows * max(1, w.rows()/2)
		}
	}
	w.drawSoon()
}

var arrows = []struct {
	final      string
	cols, rows int
}{{"A", 0, -1}, {"B", 0, 1}, {"C", 1, 0}, {"D", -1, 0}}

// finish draws what is due. Nothing is drawn after it.
func (w *window) finish() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timer != nil {
		w.stopTimer()
		w.draw()
	}
	return w.err
}

func (w *window) stopTimer() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}

// drawSoon draws now, or drawEvery after the last drawing.
func (w *window) drawSoon() {
	if w.timer != nil {
		return
	}
	wait := drawEvery - time.Since(w.last)
	if wait <= 0 {
		w.draw()
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(wait, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if w.timer == timer { // else it was stopped
			w.timer = nil
			w.draw()
		}
	})
	w.timer = timer
}

// draw updates the terminal to what it should show.
func (w *window) draw() {
	w.last = time.Now()
	alternate := w.screen.Alternate()
	if alternate != w.alternate {
		w.panned = false // the user had moved over the other screen
	}
	w.follow()
	var b bytes.Buffer
	b.WriteString("\x1b[?2026h")
	if !w.drawn {
		b.WriteString(w.tracker.clear())
		w.drawn, w.alternate, w.lines, w.title = true, false, nil, ""
	}
	if !w.past {
		w.past = true
		w.drawPast(&b)
	}
	if alternate != w.alternate {
		fmt.Fprintf(&b, "\x1b[?1049%c", map[bool]byte{true: 'h', false: 'l'}[alternate])
		w.alternate, w.lines = alternate, nil
	}
	w.drawLines(&b)
	w.drawStatus(&b)
	w.drawCursor(&b)
	if title := plaintext.Line(w.screen.Title()); title != w.title {
		fmt.Fprintf(&b, "\x1b]2;%s\x1b\\", title)
		w.title = title
	}
	b.Write(w.told)
	w.told = w.told[:0]
	b.WriteString("\x1b[?2026l")
	w.pass(b.Bytes())
}

// follow moves the window to the cursor, by as little as possible, and to the
// screen's corner if the cursor shows there too. It ignores a hidden cursor.
func (w *window) follow() {
	cols, rows := w.screen.Size()
	if at := w.screen.Cursor(); at.Visible && !w.panned {
		w.left = around(w.left, at.Col, int(w.size.Cols))
		w.top = around(w.top, at.Row, w.rows())
	}
	w.left = max(0, min(w.left, cols-int(w.size.Cols)))
	w.top = max(0, min(w.top, rows-w.rows()))
}

// around returns the start of a window of length n that shows at. from is the
// old start.
func around(from, at, n int) int {
	switch {
	case at < n:
		return 0
	case at < from:
		return at
	case at >= from+n:
		return at - n + 1
	}
	return from
}

// drawPast writes the session's past lines, as far as it sent them, into the
// terminal's own scrollback.
func (w *window) drawPast(b *bytes.Buffer) {
	_, rows := w.screen.Size()
	lines := strings.Split(w.screen.ANSI(vt.TextOptions{Scrollback: true, KeepBlanks: true}), "\n")
	if len(lines) <= rows+1 { // a newline ends the last line
		return
	}
	for _, line := range lines[:len(lines)-rows-1] {
		b.WriteString(strings.TrimRight(line, " ") + "\r\n")
	}
	b.WriteString(scrollAway(int(w.size.Rows)) + w.tracker.clear())
}

func (w *window) drawLines(b *bytes.Buffer) {
	lines := w.screen.View(w.left, w.top, int(w.size.Cols), w.rows(), nil)
	whole := len(w.lines) != len(lines)
	if whole {
		w.status = ""
		b.WriteString("\x1b[0m\x1b[2J\x1b[?7l") // no wrapping: a line that is too wide here stays one line
	}
	for i, line := range lines {
		if whole || line != w.lines[i] {
			fmt.Fprintf(b, "\x1b[%d;1H\x1b[K%s", i+1, line)
		}
	}
	w.lines = lines
}

// drawStatus says in the last row which size the session has, whose that is, and
// which part of it the terminal shows.
func (w *window) drawStatus(b *bytes.Buffer) {
	if w.rows() == int(w.size.Rows) {
		return
	}
	cols, rows := w.screen.Size()
	whose := "its last terminal"
	if w.writer {
		whose = "the attached terminal"
	}
	size := fmt.Sprintf("%dx%d", cols, rows)
	part := fmt.Sprintf(", columns %d-%d, rows %d-%d", w.left+1, min(cols, w.left+int(w.size.Cols)), w.top+1, min(rows, w.top+w.rows()))
	const keys = ": arrows move, q leaves"
	text := size
	for _, longer := range []string{size + keys, size + " of " + whose + keys, size + " of " + whose + part + keys} {
		if len(longer) <= int(w.size.Cols) {
			text = longer
		}
	}
	if text = Pad(Fit(text, int(w.size.Cols)), int(w.size.Cols)); text != w.status {
		fmt.Fprintf(b, "\x1b[%d;1H\x1b[0;7m%s\x1b[0m", w.size.Rows, text)
		w.status = text
	}
}

// drawCursor puts the cursor in its place. If that is outside the window it
// hides it near there: the terminal's output continues there when the session
// is left.
func (w *window) drawCursor(b *bytes.Buffer) {
	at := w.screen.Cursor()
	col, row := at.Col-w.left, at.Row-w.top
	inCol, inRow := max(0, min(col, int(w.size.Cols)-1)), max(0, min(row, w.rows()-1))
	fmt.Fprintf(b, "\x1b[%d;%dH", inRow+1, inCol+1)
	if !at.Visible || col != inCol || row != inRow {
		b.WriteString("\x1b[?25l")
		return
	}
	fmt.Fprintf(b, "\x1b[?25h\x1b[%d q", cursorShape(at))
}

// cursorShape returns the parameter of DECSCUSR. A block is the terminal's
// default cursor.
func cursorShape(c vt.Cursor) int {
	shape := map[string]int{"underline": 4, "bar": 6}[c.Shape]
	if shape > 0 && c.Blink {
		shape--
	}
	return shape
}

// event keeps what does not show on the screen, such as a bell, for the next
// drawing. The screen's Write calls it.
func (w *window) event(e vt.Event) {
	if w.fits() {
		return // it passed unchanged
	}
	text := plaintext.Line(e.Text)
	switch e.Kind {
	case vt.EventBell:
		w.tell(string(rune(bel)))
	case vt.EventNotification:
		w.tell("\x1b]9;" + text + stringEnd)
	case vt.EventProgress:
		w.tell(progress + text + stringEnd)
	case vt.EventClipboard:
		if text != "?" {
			w.tell("\x1b]52;" + plaintext.Line(e.Detail) + ";" + text + stringEnd)
		}
	}
}

// maxTold is how many bytes of events wait for a drawing; more are dropped.
const maxTold = 1 << 20

func (w *window) tell(text string) {
	if len(w.told)+len(text) <= maxTold {
		w.told = append(w.told, text...)
	}
}
