package sessions

import (
	"context"
	"strings"
	"sync"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

// maxNotified bounds the text of a terminal's notification, in characters.
const maxNotified = 120

// notices tells the terminal of an attach what agents in other sessions need.
type notices struct {
	way   string // notify.terminal
	aside chan string
	// mu guards shown.
	mu    sync.Mutex
	shown string // the id of the session that the terminal shows
}

func (n *notices) show(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.shown = id
}

// follow takes notices from the server, while there is one, until the function
// that it returns is called.
func (a *attaching) follow(ctx context.Context) (stop func()) {
	if a.notices.way == "off" {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		_ = client.Follow(ctx, a.Dirs, func(e api.Event) error { // it ends with ctx
			if e.Notice == nil {
				return nil
			}
			if text := a.notices.sequence(*e.Notice); text != "" {
				select {
				case a.notices.aside <- text:
				default: // the terminal does not take what it was told before
				}
			}
			return nil
		}, func(error) {})
	})
	return func() {
		cancel()
		done.Wait()
	}
}

// sequence returns what tells the terminal of a notice, "" for nothing but the
// session that it shows.
func (n *notices) sequence(notice api.Notice) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	var lines []string
	for _, item := range notice.Items {
		if item.Session != n.shown {
			lines = append(lines, item.Kind+" "+notified(item))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	text := []rune(plaintext.Line(strings.Join(lines, ", ")))
	text = text[:min(len(text), maxNotified)]
	switch n.way {
	case "osc9":
		return "\x1b]9;" + string(text) + "\x1b\\"
	case "osc777":
		return "\x1b]777;notify;middleman;" + string(text) + "\x1b\\"
	}
	return "\a"
}
