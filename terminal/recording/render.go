package recording

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// Render returns what a screen shows, in a format of a capture; "" is text.
// Scrollback says that the lines above the screen belong to it, which JSON has
// none of; Rows leaves out others. Another format is an error.
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
	sum := sha256.Sum256([]byte(t.Text(vt.TextOptions{Top: rows.First, Bottom: rows.Last})))
	return hex.EncodeToString(sum[:terminal.HashBytes])
}
