package ptyowner

import (
	"encoding/json"
	"fmt"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// render is a capture's data.
func render(t *vt.Terminal, format terminal.CaptureFormat, scrollback bool) ([]byte, error) {
	switch format {
	case terminal.FormatANSI:
		return []byte(t.ANSI(vt.TextOptions{Scrollback: scrollback})), nil
	case terminal.FormatJSON:
		return json.Marshal(t.Cells())
	case terminal.FormatText, "":
		return []byte(t.Text(vt.TextOptions{Scrollback: scrollback})), nil
	}
	return nil, fmt.Errorf("capture format %q is not text, ansi or json", format)
}

// lastScreen is the screen that a snapshot draws, for a session without an
// owner.
func lastScreen(snapshot []byte, size terminal.Size) *vt.Terminal {
	t := vt.New(vt.Options{Cols: int(size.Cols), Rows: int(size.Rows)})
	t.Write(snapshot)
	return t
}
