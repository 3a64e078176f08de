package recording

import (
	"encoding/json"
	"fmt"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// Render returns what a screen shows, in a format of a capture; "" is text.
// scrollback says that the lines above the screen belong to it, which JSON has
// none of. Another format is an error.
func Render(t *vt.Terminal, format terminal.CaptureFormat, scrollback bool) ([]byte, error) {
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
