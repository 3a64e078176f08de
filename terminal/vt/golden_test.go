package vt

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// goldenHistory is the number of history rows that a golden keeps.
const goldenHistory = 200

// goldenGrid is one of the two screens in a golden. rows are the last rows of
// the history, then the screen; row 0 is the first of the screen.
type goldenGrid struct {
	History int          `json:"history"`
	Rows    []string     `json:"rows"`
	Wrapped []int        `json:"wrapped"` // rows that continue the one above
	Looks   []goldenLook `json:"looks"`
}

// goldenScreen is what scripts/vt-golden/screen.mjs writes of one moment.
type goldenScreen struct {
	goldenGrid
	Size    string      `json:"size"`
	Cursor  [2]int      `json:"cursor"`
	Region  [2]int      `json:"region"`
	Modes   string      `json:"modes"`
	Title   string      `json:"title"`
	Answers string      `json:"answers"`
	Bells   int         `json:"bells"`
	Main    *goldenGrid `json:"main"` // while the alternate screen is shown
}

// goldenLook says that the cells from one column to another are not plain.
type goldenLook struct {
	row, from, to int
	look          string
}

func (l *goldenLook) UnmarshalJSON(b []byte) error {
	return json.Unmarshal(b, &[]any{&l.row, &l.from, &l.to, &l.look})
}

func (l goldenLook) String() string {
	return fmt.Sprintf("row %d columns %d-%d: %s", l.row, l.from, l.to, l.look)
}

// fields names what is compared.
func (s goldenScreen) fields() map[string]any {
	f := map[string]any{
		"size": s.Size, "cursor": s.Cursor, "region": s.Region, "modes": s.Modes,
		"title": s.Title, "answers": s.Answers, "bells": s.Bells, "alternate": s.Main != nil,
	}
	s.goldenGrid.addTo(f, "")
	if s.Main != nil {
		s.Main.addTo(f, "main ")
	}
	return f
}

func (g goldenGrid) addTo(f map[string]any, prefix string) {
	f[prefix+"history"] = g.History
	f[prefix+"rows"] = g.Rows
	f[prefix+"wrapped"] = append([]int{}, g.Wrapped...)
	f[prefix+"looks"] = append([]goldenLook{}, g.Looks...)
}

// harness is a Terminal with what it reported.
type harness struct {
	*Terminal
	answers []byte
	bells   int
}

// newHarness keeps so much history that no golden loses any.
func newHarness(cols, rows int) *harness {
	h := &harness{}
	h.Terminal = New(Options{
		Cols: cols, Rows: rows, ScrollbackBytes: 64 << 20,
		Answer: func(b []byte) { h.answers = append(h.answers, b...) },
		Event: func(e Event) {
			if e.Kind == EventBell {
				h.bells++
			}
		},
	})
	return h
}

// take does one step of a script.
func (h *harness) take(s scriptStep) {
	switch s.op {
	case "feed":
		_, _ = h.Write(s.bytes)
	case "resize":
		h.Resize(s.cols, s.rows)
	}
}

// screen is the state in the form of a golden.
func (h *harness) screen() goldenScreen {
	s := goldenScreen{
		goldenGrid: h.grid(h.scr),
		Size:       fmt.Sprintf("%dx%d", h.cols, h.rows),
		Cursor:     [2]int{h.x, h.y},
		Modes:      h.modeWords(),
		Title:      h.Title(),
		Answers:    string(h.answers),
		Bells:      h.bells,
	}
	if h.scr.top != 0 || h.scr.bottom != h.rows-1 {
		s.Region = [2]int{h.scr.top, h.scr.bottom}
	}
	if h.onAlt() {
		main := h.grid(h.main)
		s.Main = &main
	}
	return s
}

func (h *harness) grid(s *screen) goldenGrid {
	var g goldenGrid
	n := 0
	add := func(r *row) {
		g.Rows = append(g.Rows, h.rowText(r))
		if r.wrapped {
			g.Wrapped = append(g.Wrapped, n)
		}
		g.Looks = h.appendLooks(g.Looks, n, r)
		n++
	}
	if s == h.main {
		g.History = h.scrollback.lines
		n = -min(g.History, goldenHistory)
		h.scrollback.each(-n, func(line []byte) {
			var r row
			h.decodeLine(&r, line)
			add(&r)
		})
	}
	for _, r := range s.rows {
		add(r)
	}
	return g
}

// rowText has the form that rowText in screen.mjs describes.
func (h *harness) rowText(r *row) string {
	var b strings.Builder
	end := r.contentLength()
	for i := 0; i < end; i++ {
		c := r.at(i)
		text := h.cellText(c)
		switch {
		case c.wide():
			b.WriteString("⟦" + text + "⟧")
			i++
		case c.spacer():
			b.WriteString("⟨" + text + "⟩0")
		case len([]rune(text)) > 1:
			b.WriteString("⟨" + text + "⟩")
		case text == "":
			b.WriteByte(' ')
		default:
			b.WriteString(text)
		}
	}
	return b.String()
}

func (h *harness) cellText(c cell) string {
	switch {
	case !c.content():
		return ""
	case c.ch&chCluster != 0:
		return h.clusters.value(c.ch & chMask)
	}
	return string(rune(c.ch & chMask))
}

func (h *harness) appendLooks(looks []goldenLook, n int, r *row) []goldenLook {
	from, last := 0, ""
	for col := 0; col <= h.cols; col++ {
		now := ""
		if col < h.cols {
			now = h.look(r.at(col))
			if r.at(col).spacer() && col > 0 {
				now = last
			}
		}
		if col < h.cols && now == last {
			continue
		}
		if last != "" {
			looks = append(looks, goldenLook{n, from, col - 1, last})
		}
		from, last = col, now
	}
	return looks
}

var underlineWords = [...]string{"", "underline", "double", "curly", "dotted", "dashed"}

// look says in words how a cell looks; a plain one is "".
func (h *harness) look(c cell) string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	a, e := c.attr, h.extras.value(c.ext)
	add(a&bold != 0, "bold")
	add(a&faint != 0, "dim")
	add(a&italic != 0, "italic")
	add(a.underline() != 0, underlineWords[min(a.underline(), len(underlineWords)-1)])
	add(a&blink != 0, "blink")
	add(a&inverse != 0, "inverse")
	add(a&conceal != 0, "conceal")
	add(a&strike != 0, "strike")
	add(a&overline != 0, "overline")
	add(a&protected != 0, "protected")
	add(a.fg() != 0, "fg="+colorWord(a.fg()))
	add(a.bg() != 0, "bg="+colorWord(a.bg()))
	add(e.underline != 0 && a.underline() != 0, "ul="+colorWord(e.underline))
	add(e.uri != "", "link="+e.id+";"+e.uri)
	return strings.Join(words, " ")
}

func colorWord(c color) string {
	if c&colorMode == colorRGB {
		return fmt.Sprintf("#%06x", uint32(c&colorValue))
	}
	return fmt.Sprint(uint32(c & 0xff))
}

// modeWords lists the modes that xterm.js knows and that are not as after a
// reset, in the order of screen.mjs.
func (h *harness) modeWords() string {
	var words []string
	add := func(on bool, word string) {
		if on {
			words = append(words, word)
		}
	}
	add(h.modes.has(modeInsert), "insert")
	add(h.modes.has(modeNewLine), "newline")
	add(h.modes.has(modeCursorKeys), "cursor-keys")
	add(h.modes.has(modeKeypad), "keypad")
	add(h.modes.has(modeOrigin), "origin")
	add(!h.modes.has(modeWrap), "no-wrap")
	add(h.modes.has(modeReverseWrap), "reverse-wrap")
	add(!h.modes.has(modeCursorVisible), "hidden-cursor")
	add(h.modes.has(modeBracketedPaste), "paste")
	add(h.modes.has(modeFocus), "focus")
	add(h.modes.has(modeSynchronized), "synchronized")
	add(h.mouse != mouseOff, fmt.Sprintf("mouse=%d", h.mouse))
	add(h.encoding == encodingSGR || h.encoding == encodingPixels, fmt.Sprintf("mouse-encoding=%d", h.encoding))
	if shape := h.cursorShape; shape > 0 {
		word := "cursor=" + [...]string{"block", "underline", "bar"}[(shape-1)/2]
		if shape%2 == 1 {
			word += "-blink"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func loadGolden(t testing.TB, s script) []goldenScreen {
	t.Helper()
	file := "testdata/golden/" + s.name + ".json"
	if s.recording() {
		file += ".gz"
	}
	b, err := os.ReadFile(file)
	if err == nil && s.recording() {
		b, err = gunzip(b)
	}
	if err != nil {
		t.Fatal(err)
	}
	var screens []goldenScreen
	if err := json.Unmarshal(b, &screens); err != nil {
		t.Fatalf("read %s: %v", file, err)
	}
	return screens
}

func TestCases(t *testing.T) {
	cases := loadCases(t)
	if len(cases) < 250 {
		t.Errorf("%d cases, want at least 250", len(cases))
	}
	checkGoldens(t, cases)
}

func TestRecordings(t *testing.T) {
	recordings := loadRecordings(t)
	if len(recordings) < 40 {
		t.Errorf("%d recordings, want at least 40", len(recordings))
	}
	checkGoldens(t, recordings)
}

// checkGoldens compares every screen of every script with its golden, but for
// the fields that testdata/differences.txt lists; and those must differ.
func checkGoldens(t *testing.T, scripts []script) {
	kept := loadDifferences(t)
	for _, s := range scripts {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			unseen := maps.Clone(kept[s.name])
			for _, d := range compareScript(t, s) {
				if _, ok := kept[s.name][d.field]; ok {
					delete(unseen, d.field)
					continue
				}
				t.Error(d)
			}
			for field, name := range unseen {
				t.Errorf("%s no longer differs, but difference %q lists it", field, name)
			}
		})
	}
}

// difference is a field that is not as in the golden.
type difference struct {
	screen    int // which check of the script
	field     string
	got, want any
}

func (d difference) String() string {
	if got, ok := d.got.([]string); ok {
		return fmt.Sprintf("screen %d: %s%s", d.screen, d.field, diffRows(got, d.want.([]string)))
	}
	return fmt.Sprintf("screen %d: %s\ngot:  %q\nwant: %q", d.screen, d.field, fmt.Sprint(d.got), fmt.Sprint(d.want))
}

// diffRows shows the rows that differ.
func diffRows(got, want []string) string {
	var b strings.Builder
	for i := range max(len(got), len(want)) {
		g, w := "none", "none"
		if i < len(got) {
			g = "|" + got[i] + "|"
		}
		if i < len(want) {
			w = "|" + want[i] + "|"
		}
		if g != w {
			fmt.Fprintf(&b, "\n%d got:  %s\n%d want: %s", i, g, i, w)
		}
	}
	return b.String()
}

// compareScript runs a script and returns what is not as in its golden.
func compareScript(t testing.TB, s script) []difference {
	want := loadGolden(t, s)
	h := newHarness(s.size())
	var found []difference
	n := 0
	for _, step := range s.steps {
		if step.op != "check" {
			h.take(step)
			continue
		}
		if n == len(want) {
			t.Fatalf("golden has only %d screens", n)
		}
		found = append(found, compareScreen(n, h.screen(), want[n], s.recording())...)
		n++
	}
	if n != len(want) {
		t.Errorf("golden has %d screens, the script %d", len(want), n)
	}
	return found
}

// compareScreen leaves answers out for recordings: which queries are answered
// and how is what testdata/cases/answer is about.
func compareScreen(n int, got, want goldenScreen, recording bool) []difference {
	if recording {
		got.Answers, want.Answers = "", ""
	}
	g, w := got.fields(), want.fields()
	var found []difference
	for _, field := range slices.Sorted(maps.Keys(w)) {
		if !reflect.DeepEqual(g[field], w[field]) {
			found = append(found, difference{n, field, g[field], w[field]})
		}
	}
	return found
}

// loadDifferences reads testdata/differences.txt: for each script the fields
// that may and must differ, with the name of the difference.
func loadDifferences(t testing.TB) map[string]map[string]string {
	t.Helper()
	b, err := os.ReadFile("testdata/differences.txt")
	if err != nil {
		t.Fatal(err)
	}
	kept := make(map[string]map[string]string)
	names := 0
	current := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "\t\t"):
		case strings.HasPrefix(line, "\t"):
			name, fields, _ := strings.Cut(strings.TrimSpace(line), ": ")
			if kept[name] == nil {
				kept[name] = make(map[string]string)
			}
			for field := range strings.SplitSeq(fields, ", ") {
				kept[name][field] = current
			}
		default:
			current = line
			names++
		}
	}
	if names >= 10 {
		t.Errorf("differences.txt keeps %d differences, want fewer than ten", names)
	}
	return kept
}

// TestNamesAreScripts finds a difference or a golden whose script was renamed
// or removed.
func TestNamesAreScripts(t *testing.T) {
	known := make(map[string]bool)
	for _, s := range append(loadCases(t), loadRecordings(t)...) {
		known[s.name] = true
	}
	for name := range loadDifferences(t) {
		if !known[name] {
			t.Errorf("differences.txt lists %s, which is no script", name)
		}
	}
	goldens := os.DirFS("testdata/golden")
	err := fs.WalkDir(goldens, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, _, _ := strings.Cut(path, ".")
		if !known[name] {
			t.Errorf("golden %s has no script", path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
