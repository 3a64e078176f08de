package tmux

import (
	"fmt"
	"strconv"
	"strings"
)

// oldest is the oldest version that can host sessions: 3.0 was the first with
// pane options (set-option -p), and with several commands for one hook.
var oldest = version{3, 0}

// feature is something that tmux has only since a certain version.
type feature int

const (
	terminalFeatures   feature = iota // server option terminal-features
	extendedKeys                      // server option extended-keys
	allowPassthrough                  // window option allow-passthrough
	remainOnExitFormat                // window option remain-on-exit-format
	allowSetTitle                     // window option allow-set-title
	pasteRaw                          // paste-buffer -S; without it older versions paste control characters unchanged, newer ones make them visible
)

// features tells since which version tmux has each feature. All of them are
// optional. tmux ignores unknown options in the configuration.
var features = map[feature]struct {
	since  version
	option string // "" if the feature is no option
	goes   string // what is lost without it
}{
	terminalFeatures:   {version{3, 2}, "terminal-features", "hyperlinks and styled underlines"},
	extendedKeys:       {version{3, 2}, "extended-keys", "keys such as shift-enter"},
	allowPassthrough:   {version{3, 3}, "allow-passthrough", "nothing: older versions always pass through"},
	remainOnExitFormat: {version{3, 3}, "remain-on-exit-format", "nothing: the pane goes once its exit is recorded"},
	allowSetTitle:      {version{3, 5}, "allow-set-title", "nothing: older versions always set it"},
	pasteRaw:           {version{3, 7}, "", "nothing: older versions paste bytes as they are"},
}

// version is what tmux -V prints, such as 3.3a; "next-3.6" counts as 3.6 and
// "master" as newest.
type version struct{ major, minor int }

func parseVersion(s string) (version, error) {
	_, v, ok := strings.Cut(strings.TrimSpace(s), " ")
	if !ok {
		return version{}, fmt.Errorf("tmux -V printed %q", s)
	}
	if strings.HasPrefix(v, "master") || strings.HasPrefix(v, "openbsd-") {
		return version{major: 1 << 16}, nil
	}
	major, minor, _ := strings.Cut(strings.TrimPrefix(v, "next-"), ".")
	minor = strings.TrimRight(minor, "abcdefghijklmnopqrstuvwxyz-") // 3.3a, 3.2-rc
	if i := strings.IndexFunc(minor, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		minor = minor[:i]
	}
	var n version
	var err error
	if n.major, err = strconv.Atoi(major); err != nil {
		return version{}, fmt.Errorf("tmux -V printed %q", s)
	}
	if minor != "" {
		if n.minor, err = strconv.Atoi(minor); err != nil {
			return version{}, fmt.Errorf("tmux -V printed %q", s)
		}
	}
	return n, nil
}

func (v version) atLeast(w version) bool {
	return v.major > w.major || v.major == w.major && v.minor >= w.minor
}

func (v version) has(f feature) bool { return v.atLeast(features[f].since) }

func (v version) String() string { return fmt.Sprintf("%d.%d", v.major, v.minor) }
