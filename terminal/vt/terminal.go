package vt

const (
	minCols, minRows = 2, 1 // as xterm.js: a wide character must fit
	maxCols, maxRows = 2000, 1000
	maxArea          = 128 << 10 // cells of one screen

	defaultCols, defaultRows = 80, 24
	defaultScrollback        = 2 << 20
)

// Options configure a Terminal.
type Options struct {
	// Cols and Rows are the size. 0 means 80 and 24; see Terminal.Resize for
	// the bounds.
	Cols, Rows int
	// ScrollbackBytes bounds the memory of the lines that scrolled off the
	// main screen. 0 means 2 MiB, a negative number keeps none.
	ScrollbackBytes int
	// Spill, where it is not nil, takes what of the scrollback is not the
	// newest out of memory.
	Spill Spill
	// Event is called from within Write, and must not call the Terminal. It
	// may be nil.
	Event func(Event)
	// Answer is called from within Write with the reply to a query, and must
	// not call the Terminal. The bytes are valid only during the call. If it
	// is nil, queries stay unanswered.
	Answer func([]byte)
}

// Terminal is the state of one terminal. Create it with New.
type Terminal struct {
	cols, rows int
	main, alt  *screen
	scr        *screen // main or alt
	scrollback scrollback

	// The cursor. x equals cols where the last column was written and the
	// next character will wrap; y counts from the top of the screen.
	x, y int
	// wrapAt is x where the column left of the right margin was written and
	// the next character will wrap, else 0. It is used with margins only.
	wrapAt   int
	pen      pen
	grapheme graphemeState // what the next rune may be joined to
	// dropped says that the rune before did not fit and was not drawn.
	graphemeDropped bool

	charsets    [4]byte // final byte of each designation, 'B' is ASCII
	gl          int     // which of them is in use
	singleShift int     // 2 or 3: the one for the next character alone

	modes       modes
	mouse       mouseMode
	encoding    mouseEncoding
	cursorShape int // DECSCUSR parameter

	title, icon           string
	titleStack, iconStack []string
	progress              Progress
	directory             string
	palette               palette

	extras   intern[extra]
	clusters intern[string]
	// sweepWait is the number of lines until a full table is swept again.
	sweepWait int

	parser parser

	event     func(Event)
	answer    func([]byte)
	silent    bool // queries are not to be answered
	answerBuf []byte
	lineBuf   []byte // an encoded line, for a moment
	// What a resize works on, which is on no screen and in no scrollback.
	scratch       []*row
	oldScrollback *scrollback
}

// New returns a Terminal in its initial state.
func New(o Options) *Terminal {
	buildTables()
	if o.Cols == 0 {
		o.Cols = defaultCols
	}
	if o.Rows == 0 {
		o.Rows = defaultRows
	}
	cols, rows := ClampSize(o.Cols, o.Rows)
	budget := o.ScrollbackBytes
	if budget == 0 {
		budget = defaultScrollback
	}
	t := &Terminal{
		cols:     cols,
		rows:     rows,
		event:    o.Event,
		answer:   o.Answer,
		extras:   newIntern(4096, 512<<10, extra.bytes),
		clusters: newIntern(8192, 512<<10, func(s string) int { return 32 + len(s) }),
	}
	t.scrollback.budget = max(budget, 0)
	if o.Spill != nil {
		t.scrollback.spill = &spillStore{storage: o.Spill}
	}
	t.reset()
	return t
}

// ClampSize returns the size nearest to cols x rows that a Terminal can have.
// See Terminal.Resize for the bounds.
func ClampSize(cols, rows int) (int, int) {
	cols = min(max(cols, minCols), maxCols)
	rows = min(max(rows, minRows), maxRows)
	return cols, min(rows, max(maxArea/cols, minRows))
}

// reset restores the initial state of everything but the parser, the titles
// and the working directory.
func (t *Terminal) reset() {
	t.main = newScreen(t.cols, t.rows)
	t.alt = newScreen(t.cols, t.rows)
	t.scr = t.main
	t.scrollback.clear()
	t.x, t.y, t.wrapAt = 0, 0, 0
	t.pen = pen{}
	t.endGrapheme()
	t.resetCharsets()
	t.modes = defaultModes
	t.mouse, t.encoding = mouseOff, encodingDefault
	t.cursorShape = 0
	t.palette.reset()
}

// Size returns the columns and rows in use, which the bounds may have changed
// from those asked for.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Title returns the window title as last set.
func (t *Terminal) Title() string { return t.title }

// Progress returns the progress as last reported by OSC 9;4.
func (t *Terminal) Progress() Progress { return t.progress }

// Directory returns the working directory as last reported by OSC 7: a URL as
// the program sent it, empty if there was none.
func (t *Terminal) Directory() string { return t.directory }

// Answering switches the answers to queries on or off. They are on at first.
// Switch them off while a terminal is attached that answers by itself.
func (t *Terminal) Answering(on bool) { t.silent = !on }

// screen is one of the two grids with what belongs to it alone.
type screen struct {
	rows           []*row
	top, bottom    int // scroll region, both ends included
	left, right    int // margins, used in mode 69
	tabs           tabs
	saved          savedCursor
	keys           keyStack
	inactiveCursor point // of the main screen: its cursor while the alternate one is in use
}

func newScreen(cols, rows int) *screen {
	s := &screen{rows: make([]*row, rows)}
	backing := make([]row, rows)
	for i := range s.rows {
		s.rows[i] = &backing[i]
	}
	s.resetMargins(cols, rows)
	s.tabs.reset(cols)
	s.saved = defaultSaved
	return s
}

func (s *screen) resetMargins(cols, rows int) {
	s.top, s.bottom = 0, rows-1
	s.left, s.right = 0, cols-1
}

// line is the row that the cursor is in.
func (t *Terminal) line() *row { return t.scr.rows[t.y] }

// blankCell is what erasing leaves.
func (t *Terminal) blankCell() cell { return cell{attr: t.pen.attr.erased()} }

// penCell is a blank in the whole style of the pen. It replaces the other half
// where half of a wide character is overwritten.
func (t *Terminal) penCell() cell { return cell{attr: t.pen.attr, ext: t.pen.ext} }

func (t *Terminal) onAlt() bool { return t.scr == t.alt }

// endGrapheme ends the grapheme cluster before the cursor: the next rune
// begins one of its own.
func (t *Terminal) endGrapheme() {
	t.grapheme = graphemeState{}
	t.graphemeDropped = false
}
