package dashboard

import (
	"fmt"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"middleman/internal/plaintext"
)

// maxEntry is how many bytes of an entry are taken.
const maxEntry = 8 << 10

// entry is one line that the user types.
type entry struct {
	before, after string // of the cursor
}

func (e *entry) text() string { return e.before + e.after }

// set replaces the text.
func (e *entry) set(text string) { *e = entry{before: text} }

// insert adds text at the cursor. Line ends and other control characters become
// blanks: they would be keys where the text is sent. What does not fit is left out
// as a whole, and the line for the user says so.
func (e *entry) insert(text string) (problem string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if len(e.before)+len(e.after)+len(text) > maxEntry {
		return fmt.Sprintf("not taken: it would be more than %d KiB", maxEntry>>10)
	}
	e.before += text
	return ""
}

// press takes a key, and reports whether it was one that edits.
func (e *entry) press(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "left", "ctrl+b":
		_, n := lastCluster(e.before)
		e.before, e.after = e.before[:len(e.before)-n], e.before[len(e.before)-n:]+e.after
	case "right", "ctrl+f":
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(e.after, -1)
		e.before, e.after = e.before+cluster, e.after[len(cluster):]
	case "home", "ctrl+a":
		e.before, e.after = "", e.text()
	case "end", "ctrl+e":
		e.before, e.after = e.text(), ""
	case "backspace":
		_, n := lastCluster(e.before)
		e.before = e.before[:len(e.before)-n]
	case "delete", "ctrl+d":
		cluster, _, _, _ := uniseg.FirstGraphemeClusterInString(e.after, -1)
		e.after = e.after[len(cluster):]
	case "ctrl+u":
		e.before = ""
	case "ctrl+k":
		e.after = ""
	case "ctrl+w":
		trimmed := strings.TrimRight(e.before, " ")
		e.before = trimmed[:strings.LastIndexByte(trimmed, ' ')+1]
	default:
		if k.Text == "" {
			return false
		}
		e.insert(k.Text)
	}
	return true
}

// lastCluster returns the last character of s as the user sees it, and its length.
func lastCluster(s string) (cluster string, n int) {
	for rest, state := s, -1; rest != ""; {
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
	}
	return cluster, len(cluster)
}

// draw returns the part of the text that fits cols columns, around the cursor, and
// the cursor's column in it.
func (e *entry) draw(cols int) (string, int) {
	before, after := plaintext.Line(e.before), plaintext.Line(e.after)
	before = tail(before, max(1, cols)-1)
	at := uniseg.StringWidth(before)
	return before + cut(after, cols-at), at
}

// tail returns the end of s that has at most cols columns. An entry has kilobytes
// and is drawn at every key, so s is read twice, not once for each character that
// is left out.
func tail(s string, cols int) string {
	over := uniseg.StringWidth(s) - cols
	for state := -1; over > 0 && s != ""; {
		var w int
		_, s, w, state = uniseg.FirstGraphemeClusterInString(s, state)
		over -= w
	}
	return s
}

// cut returns the beginning of s that has at most cols columns.
func cut(s string, cols int) string {
	width := 0
	for rest, state, at := s, -1, 0; rest != ""; {
		var cluster string
		var w int
		cluster, rest, w, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if width += w; width > cols {
			return s[:at]
		}
		at += len(cluster)
	}
	return s
}
