package viewer

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"

	"middleman/internal/plaintext"
	"middleman/terminal"
)

// Choice is a session that the user can go to.
type Choice struct {
	ID    string
	Label string // the user's name for it
	State string
	Runs  string // its command
	Here  bool   // it is the session that the user comes from
	Needs bool   // it needs the user
	// Busy: another terminal is attached to it, so going there takes it over.
	Busy bool
}

// picker is the list of sessions that the user chooses from. It knows no
// terminal: it takes keys, and says what to draw.
type picker struct {
	choices []Choice
	listed  bool   // the list has come
	early   string // the key that chooses, if it came before the list
	hidden  int    // how many ended sessions it leaves out
	filter  string // words that a choice must contain
	at      string // the selected choice's ID; "" or one that is not shown means the first
	sure    string // ID of the busy choice that Enter will take over
	note    string // shown instead of the help
	help    string

	top, rows int // the first line of the list that is shown, and how many are
}

// verdict is what a key means for the whole picker.
type verdict int

const (
	undone verdict = iota
	goThere
	stay
)

// The keys that have a meaning in the picker.
const (
	keyUp       = "\x1b[A"
	keyDown     = "\x1b[B"
	keyHome     = "\x1b[H"
	keyEnd      = "\x1b[F"
	keyPageUp   = "\x1b[5~"
	keyPageDown = "\x1b[6~"
	keyEscape   = "\x1b"
	keyEnter    = "\r"
	keyNext     = "!" // where nothing else is typed
)

// sameKey maps other keys, and other forms of keys, to the ones above.
var sameKey = map[string]string{
	"\x1bOA": keyUp, "\x1bOB": keyDown, "\x1bOH": keyHome, "\x1bOF": keyEnd, "\x1b[1~": keyHome, "\x1b[4~": keyEnd,
	"\x10": keyUp, "\x0e": keyDown, "\x0b": keyUp, // ctrl-p, ctrl-n, ctrl-k
	"\n": keyEnter, "\x03": keyEscape, "\x07": keyEscape, "\b": "\x7f",
}

// keyLength returns the length of the first key of p, in bytes. It returns 0 if p
// may be only the beginning of a key.
func keyLength(p []byte) (n int) {
	switch {
	case p[0] != esc:
		_, n = utf8.DecodeRune(p)
		if !utf8.FullRune(p) {
			n = 0
		}
	case len(p) == 1:
	case p[1] == '[':
		end, complete := csiEnd(p)
		if complete || end < len(p) || end >= maxKey {
			n = end
		}
	case p[1] == 'O' && len(p) > 2:
		n = 3
	case p[1] != 'O':
		n = 1
	}
	return n
}

// press takes a key, "" for none. One that chooses waits for the list.
func (p *picker) press(key string) verdict {
	if key == "" {
		if p.early == "" || !p.listed {
			return undone
		}
		key = p.early
	}
	sure := p.sure
	p.note, p.sure, p.early = "", "", ""
	if same, ok := sameKey[key]; ok {
		key = same
	}
	switch key {
	case keyUp:
		p.move(-1)
	case keyDown, "\t":
		p.move(1)
	case keyPageUp:
		p.move(-p.rows)
	case keyPageDown:
		p.move(p.rows)
	case keyHome:
		p.move(-len(p.choices))
	case keyEnd:
		p.move(len(p.choices))
	case keyEscape:
		return stay
	case keyEnter:
		if !p.listed {
			p.early = key
			return undone
		}
		return p.enter(sure)
	case keyNext:
		if p.filter != "" {
			p.search(p.filter + key)
			break
		}
		if !p.listed {
			p.early = key
			return undone
		}
		return p.next(sure)
	case "\x7f":
		_, n := utf8.DecodeLastRuneInString(p.filter)
		p.search(p.filter[:len(p.filter)-n])
	case "\x15", "\x17": // ctrl-u, ctrl-w
		p.search("")
	default:
		if r, _ := utf8.DecodeRuneInString(key); r >= ' ' && r != utf8.RuneError && len(p.filter) < maxFilter {
			p.search(p.filter + key)
		}
	}
	return undone
}

// maxFilter is how many bytes of a filter are taken.
const maxFilter = 200

// enter goes to the selected choice, or asks whether to take it over.
func (p *picker) enter(sure string) verdict {
	c, ok := p.selected()
	switch {
	case !ok:
		return undone
	case c.Here:
		return stay
	case c.Busy && sure != c.ID:
		p.sure, p.note = c.ID, TakesOver(c.Label)
		return undone
	}
	return goThere
}

// next goes to the session that needs the user and was used longest ago, so that
// one after the other gets its turn.
func (p *picker) next(sure string) verdict {
	for _, c := range slices.Backward(p.choices) {
		if c.Needs && !c.Here {
			p.at = c.ID
			return p.enter(sure)
		}
	}
	p.note = "no other session needs you"
	return undone
}

func (p *picker) search(words string) { p.filter, p.at = words, "" }

// shown returns the choices that the filter lets pass.
func (p *picker) shown() []Choice {
	words := strings.Fields(strings.ToLower(p.filter))
	return slices.DeleteFunc(slices.Clone(p.choices), func(c Choice) bool {
		text := strings.ToLower(c.Label + " " + c.State + " " + c.Runs)
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(text, word) })
	})
}

// index returns the place of the selected choice in shown.
func (p *picker) index(shown []Choice) int {
	return max(0, slices.IndexFunc(shown, func(c Choice) bool { return c.ID == p.at }))
}

func (p *picker) selected() (Choice, bool) {
	shown := p.shown()
	if len(shown) == 0 {
		return Choice{}, false
	}
	return shown[p.index(shown)], true
}

func (p *picker) move(by int) {
	if shown := p.shown(); len(shown) > 0 {
		p.at = shown[max(0, min(len(shown)-1, p.index(shown)+by))].ID
	}
}

// draw returns what shows the picker on an empty screen of that size.
func (p *picker) draw(size terminal.Size) string {
	cols, rows := int(size.Cols), int(size.Rows)
	p.rows = max(1, rows-2)
	shown := p.shown()
	at := p.index(shown)
	p.top = max(0, min(p.top, at, len(shown)-p.rows), at-p.rows+1)
	prompt := "go to: "
	entered := Fit(plaintext.Line(p.filter), cols-len(prompt)-1)
	lines := []string{Fit(prompt+entered, cols)}
	table := p.table(shown, cols)
	for i := p.top; i < min(len(shown), p.top+p.rows); i++ {
		line := table[i]
		if i == at {
			line = "\x1b[7m" + Pad(line, cols) + "\x1b[27m"
		}
		lines = append(lines, line)
	}
	if len(shown) == 0 {
		lines = append(lines, Fit(p.nothing(), cols))
	}
	if len(lines) < rows {
		lines = slices.Concat(lines, make([]string, rows-1-len(lines)), []string{Fit(p.foot(), cols)})
	}
	return page(lines, rows) + fmt.Sprintf("\x1b[1;%dH", min(cols, 1+uniseg.StringWidth(prompt+entered)))
}

// page draws lines on a terminal with that many rows. What does not fit is left out.
func page(lines []string, rows int) string {
	return "\x1b[?2026h\x1b[H\x1b[2J" + strings.Join(lines[:min(len(lines), rows)], "\r\n") + "\x1b[?2026l"
}

// nothing says why no choice is shown.
func (p *picker) nothing() string {
	switch {
	case !p.listed:
		return "looking for sessions..."
	case p.filter != "":
		return "no session has this in its name, state or command"
	}
	return "no other session runs"
}

func (p *picker) foot() string {
	if p.note != "" {
		return p.note
	}
	help := p.help
	if slices.ContainsFunc(p.choices, func(c Choice) bool { return c.Needs && !c.Here }) {
		help = "! goes to the next that needs you, " + help
	}
	if p.hidden > 0 {
		return fmt.Sprintf("%s  (%d ended: not listed)", help, p.hidden)
	}
	return help
}

// table returns a line for each choice: name, state and command, in as many
// columns as there are. What does not fit is cut, the command first.
func (p *picker) table(shown []Choice, cols int) []string {
	names, states := 0, 0
	for _, c := range shown {
		names = max(names, uniseg.StringWidth(plaintext.Line(c.Label)))
		states = max(states, len(c.state()))
	}
	names = min(names, max(cols-states-24, cols/2))
	lines := make([]string, len(shown))
	for i, c := range shown {
		line := " " + Pad(FitCell(plaintext.Line(c.Label), names), names) + "  " + Pad(c.state(), states) + "  " + plaintext.Line(c.Runs)
		lines[i] = strings.TrimRight(Fit(line, cols), " ")
	}
	return lines
}

// state describes the choice's state, and who is attached to it.
func (c Choice) state() string {
	switch {
	case c.Here:
		return c.State + ", here"
	case c.Busy:
		return c.State + ", attached"
	}
	return c.State
}

// Fit cuts s to that many columns; an ellipsis ends what was cut.
func Fit(s string, cols int) string {
	switch {
	case uniseg.StringWidth(s) <= cols:
		return s
	case cols <= 0:
		return ""
	}
	head, _ := split(s, cols-1)
	return head + "…"
}

// FitCell is Fit for a cell of a list. What has no blank is a name or a path, which is cut
// in the middle: of many that begin alike the ends tell them apart.
func FitCell(s string, cols int) string {
	const leastCols = 12 // with fewer neither end says much
	width, ending := uniseg.StringWidth(s), min(8, cols/3)
	if width <= cols || cols < leastCols || strings.ContainsRune(s, ' ') {
		return Fit(s, cols)
	}
	head, _ := split(s, cols-1-ending)
	_, tail := split(s, width-ending)
	return head + "…" + tail
}

// split splits s after as many characters as fit in that many columns.
func split(s string, cols int) (head, tail string) {
	tail = s
	for state := -1; tail != ""; {
		_, rest, width, next := uniseg.FirstGraphemeClusterInString(tail, state)
		if width > cols {
			break
		}
		cols, tail, state = cols-width, rest, next
	}
	return s[:len(s)-len(tail)], tail
}

// Pad appends blanks up to that many columns.
func Pad(s string, cols int) string {
	return s + strings.Repeat(" ", max(0, cols-uniseg.StringWidth(s)))
}

// TakesOver asks for the second Enter that takes a session over which another terminal is
// attached to. What Enter does comes first: a narrow terminal cuts the rest.
func TakesOver(label string) string {
	return "Enter again takes it over: " + label + " is attached in another terminal"
}
