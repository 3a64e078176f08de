package terminal

import (
	"regexp"
	"strings"
	"sync"
)

var (
	tmuxLate = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\btmux [a-z]+(-[a-z]+)+: context deadline exceeded`)
	})
	tmuxCommand = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`\btmux [a-z]+(-[a-z]+)+: `)
	})
)

// Plain is an error's text for people: of a command within tmux it says what
// became of tmux, since neither the command nor a deadline is theirs.
func Plain(text string) string {
	if !strings.Contains(text, "tmux ") {
		return text
	}
	text = tmuxLate().ReplaceAllLiteralString(text, "tmux does not answer: its server is stopped, or very busy")
	return tmuxCommand().ReplaceAllLiteralString(text, "tmux: ")
}
