package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// Render returns what a screen shows in o.Format; "" is text, and an unknown format
// is an error. With o.Scrollback it begins with the lines above the screen, except
// in JSON. With o.Rows it has only these rows.
func Render(t *vt.Terminal, o terminal.CaptureOptions) ([]byte, error) {
	text := vt.TextOptions{Scrollback: o.Scrollback, Top: o.Rows.First, Bottom: o.Rows.Last}
	switch o.Format {
	case terminal.FormatANSI:
		return []byte(t.ANSI(text)), nil
	case terminal.FormatJSON:
		frame := t.Cells()
		if o.Rows.Last > 0 {
			frame.Lines = frame.Lines[:min(o.Rows.Last, len(frame.Lines))]
		}
		frame.Lines = frame.Lines[min(max(o.Rows.First-1, 0), len(frame.Lines)):]
		return json.Marshal(frame)
	case terminal.FormatText, "":
		return []byte(t.Text(text)), nil
	}
	return nil, fmt.Errorf("capture format %q is not text, ansi or json", o.Format)
}

// Hash returns the hash of the text of rows, as terminal.Capture has it.
func Hash(t *vt.Terminal, rows terminal.Rows) string {
	return hashOf(textOf(t, rows))
}

func textOf(t *vt.Terminal, rows terminal.Rows) string {
	return t.Text(vt.TextOptions{Top: rows.First, Bottom: rows.Last})
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:terminal.HashBytes])
}
