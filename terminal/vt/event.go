package vt

import "unicode/utf8"

// EventKind says what an Event is about.
type EventKind int

const (
	// EventTitle: the window title is now Text.
	EventTitle EventKind = iota + 1
	// EventBell: the bell rang.
	EventBell
	// EventNotification: a desktop notification was asked for. Text is its
	// body; Detail is its title (OSC 777) or its metadata (OSC 99).
	EventNotification
	// EventProgress: Text is the progress, see Progress.String.
	EventProgress
	// EventDirectory: the working directory is now Text, a URL.
	EventDirectory
	// EventPrompt: a prompt mark of OSC 133. Text is its letter: A prompt, B
	// command, C output, D end. Detail is what follows, for D the exit code.
	EventPrompt
	// EventClipboard: OSC 52. Text is base64 data to copy, or "?" to paste;
	// Detail names the selections. The Terminal itself does nothing.
	EventClipboard
	// EventColor: a colour was set or reset. Text is its number, or
	// "foreground", "background", "cursor", or "all"; Detail is the new
	// colour as rgb:rr/gg/bb, empty for the default.
	EventColor
)

var eventNames = [...]string{
	"", "title", "bell", "notification", "progress", "directory", "prompt", "clipboard", "color",
}

// String returns the kind in one lower-case word.
func (k EventKind) String() string {
	if k < 0 || int(k) >= len(eventNames) {
		return ""
	}
	return eventNames[k]
}

// Event is something that the program did which does not show on the screen.
type Event struct {
	Kind   EventKind `json:"kind"`
	Text   string    `json:"text,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

// MarshalText makes a kind its word in JSON.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func (t *Terminal) emit(kind EventKind, text, detail string) {
	if t.event != nil {
		t.event(Event{Kind: kind, Text: text, Detail: detail})
	}
}

func (t *Terminal) bell() { t.emit(EventBell, "", "") }

// clip cuts s to at most n bytes, not within a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
