package workspace

import (
	"path/filepath"
	"strconv"
)

// Path is the directory that programs of w begin in: its sub-directory where
// it has one.
func (w Workspace) Path() string { return filepath.Join(w.Root, w.Subdir) }

// Env tells a program where it is, as NAME=value.
func (w Workspace) Env() []string {
	env := []string{
		"MIDDLEMAN_WORKSPACE_PATH=" + w.Path(),
		"MIDDLEMAN_WORKSPACE_NAME=" + w.Name,
	}
	if w.Branch != "" {
		env = append(env, "MIDDLEMAN_WORKSPACE_BRANCH="+w.Branch, "MIDDLEMAN_WORKSPACE_BASE="+w.Base)
	}
	if w.Ports > 0 {
		env = append(env, "MIDDLEMAN_WORKSPACE_PORT="+strconv.Itoa(w.Port), "MIDDLEMAN_WORKSPACE_PORTS="+strconv.Itoa(w.Ports))
	}
	return env
}
