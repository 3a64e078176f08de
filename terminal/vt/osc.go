package vt

import (
	"slices"
	"strings"
)

const (
	maxTitle      = 4 << 10
	maxTitleStack = 10
	maxDirectory  = 4 << 10
	maxLink       = 4 << 10
)

func (t *Terminal) setTitleAndIcon(data string) {
	t.setTitle(data)
	t.setIcon(data)
}

func (t *Terminal) setTitle(data string) {
	t.title = strings.Clone(clip(data, maxTitle))
	t.emit(EventTitle, t.title, "")
}

func (t *Terminal) setIcon(data string) { t.icon = strings.Clone(clip(data, maxTitle)) }

// pushTitle and popTitle are CSI 22 t and CSI 23 t: 0 means both, 1 the icon
// name, 2 the title. A full stack loses its oldest entry.
func (t *Terminal) pushTitle(which int) {
	if which == 0 || which == 2 {
		t.titleStack = push(t.titleStack, t.title)
	}
	if which == 0 || which == 1 {
		t.iconStack = push(t.iconStack, t.icon)
	}
}

func (t *Terminal) popTitle(which int) {
	if n := len(t.titleStack); n > 0 && (which == 0 || which == 2) {
		title := t.titleStack[n-1]
		t.titleStack = t.titleStack[:n-1]
		t.setTitle(title)
	}
	if n := len(t.iconStack); n > 0 && (which == 0 || which == 1) {
		t.icon, t.iconStack = t.iconStack[n-1], t.iconStack[:n-1]
	}
}

func push(stack []string, s string) []string {
	if len(stack) == maxTitleStack {
		stack = slices.Delete(stack, 0, 1)
	}
	return append(stack, s)
}

// setDirectory is OSC 7.
func (t *Terminal) setDirectory(data string) {
	if len(data) > maxDirectory {
		return
	}
	t.directory = strings.Clone(data)
	t.emit(EventDirectory, t.directory, "")
}

// setHyperlink is OSC 8: "params;uri", an empty uri ends the link.
func (t *Terminal) setHyperlink(data string) {
	parameters, uri, ok := strings.Cut(data, ";")
	if !ok || len(data) > maxLink || uri == "" && strings.TrimSpace(parameters) != "" {
		return
	}
	id := ""
	if uri != "" {
		for _, parameter := range strings.Split(strings.TrimSpace(parameters), ":") {
			if value, ok := strings.CutPrefix(parameter, "id="); ok {
				id = value
				break
			}
		}
	}
	t.setExtra(func(e *extra) { e.id, e.uri = strings.Clone(id), strings.Clone(uri) })
}

// notifyOrProgress is OSC 9: a notification, or with "4;" the progress that
// ConEmu shows.
func (t *Terminal) notifyOrProgress(data string) {
	progress, ok := strings.CutPrefix(data, "4;")
	if !ok {
		t.emit(EventNotification, data, "")
		return
	}
	if t.progress, ok = t.progress.set(progress); ok {
		t.emit(EventProgress, t.progress.String(), "")
	}
}

func (t *Terminal) notifyKitty(data string) {
	metadata, body, _ := strings.Cut(data, ";")
	t.emit(EventNotification, body, metadata)
}

func (t *Terminal) notifyRxvt(data string) {
	if rest, ok := strings.CutPrefix(data, "notify;"); ok {
		title, body, _ := strings.Cut(rest, ";")
		t.emit(EventNotification, body, title)
	}
}

func (t *Terminal) promptMark(data string) {
	mark, detail, _ := strings.Cut(data, ";")
	t.emit(EventPrompt, mark, detail)
}

func (t *Terminal) clipboard(data string) {
	if selections, text, ok := strings.Cut(data, ";"); ok {
		t.emit(EventClipboard, text, selections)
	}
}
