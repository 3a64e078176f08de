package confine

import (
	"path/filepath"

	"middleman/internal/sandbox"
)

// notCovered says in one line what a method leaves open.
var notCovered = map[sandbox.Method]string{
	sandbox.Bubblewrap: "what can be read and is not hidden; at level workspace the network, and services on it, also of this machine",
	sandbox.Landlock: "temporary files and processes are shared with the host; the network; " +
		"permissions and times of files outside can be changed, and .git of the workspace replaced",
	sandbox.Seatbelt: "what can be read and is not hidden; processes are shared with the host",
}

// Usual returns a policy that hides what every sandboxed program must not read, and shows
// what the settings and more show. It is for Policy.Hides.
func (m Maker) Usual(more ...string) (p sandbox.Policy, err error) {
	if p.Hidden, err = m.Hidden(); err != nil {
		return p, err
	}
	p.Show, err = sandbox.Existing(m.Home, append(m.expand(m.Settings.Show), more...)...)
	return p, err
}

// sharedTemp is where a program without mounts has its temporary files.
func sharedTemp(named string) string {
	if filepath.IsAbs(named) {
		return filepath.Clean(named)
	}
	return "/tmp"
}
