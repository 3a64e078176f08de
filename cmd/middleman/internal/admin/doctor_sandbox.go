package admin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/internal/sandbox/escapes"
)

// tried is a sandbox that doctor tried to break.
type tried struct {
	Level    sandbox.Level    `json:"level"`
	Method   sandbox.Method   `json:"method"`
	Attempts []escapes.Result `json:"attempts"`
}

// checkSandbox says which levels there are and by which method, and tries to break
// each: try returns what became of every attempt.
func checkSandbox(s sandbox.Support, try func(sandbox.Level, sandbox.Method) ([]escapes.Result, error)) (found []finding, all []tried) {
	found = append(found, checkMethods(s))
	for _, level := range []sandbox.Level{sandbox.Workspace, sandbox.Strict} {
		f := finding{Check: "sandbox " + string(level), State: "note"}
		method, err := sandbox.Choose(level, s)
		if err != nil {
			f.Detail = "not available: " + err.Error()
			found = append(found, f)
			continue
		}
		results, err := try(level, method)
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			f.Detail = fmt.Sprintf("by %s, which doctor cannot try on this system", method)
		case err != nil:
			f.State, f.Detail = "problem", fmt.Sprintf("by %s, which could not be tried: %v", method, err)
		default:
			all = append(all, tried{level, method, results})
			f.State, f.Detail = judgeAttempts(method, results)
		}
		found = append(found, f)
	}
	return found, all
}

// checkMethods says which methods there are, and why others cannot be used.
func checkMethods(s sandbox.Support) finding {
	f := finding{"sandbox methods", "ok", ""}
	var parts []string
	add := func(there, missing string) {
		switch {
		case missing != "":
			f.State = "note"
			parts = append(parts, missing)
		case there != "":
			parts = append(parts, there)
		}
	}
	if s.Seatbelt != "" || s.NoSeatbelt != "" {
		add("Seatbelt at "+s.Seatbelt, s.NoSeatbelt)
	} else {
		add(fmt.Sprintf("bubblewrap %s at %s", s.Version, s.Bubblewrap), s.NoBubblewrap)
		add(fmt.Sprintf("Landlock ABI %d", s.ABI), s.NoLandlock)
	}
	f.Detail = strings.Join(parts, "; ")
	return f
}

// judgeAttempts sums up what became of the attempts to break a sandbox.
func judgeAttempts(method sandbox.Method, results []escapes.Result) (state, detail string) {
	var blocked, nothing, open int
	var escaped []string
	for _, r := range results {
		switch {
		case r.Absent:
			nothing++
		case r.Blocked:
			blocked++
		case r.Listed:
			open++
		default:
			escaped = append(escaped, r.Area+": "+r.Name)
		}
	}
	if len(escaped) > 0 {
		return "problem", fmt.Sprintf("by %s, and %d of %d attempts got out of it (%s): use --sandbox none knowingly, and report this",
			method, len(escaped), len(results), strings.Join(escaped, "; "))
	}
	if blocked == 0 {
		return "problem", fmt.Sprintf("by %s, and no attempt to get out of it could be made", method)
	}
	detail = fmt.Sprintf("by %s, which blocked %d attempts to get out; it does not cover %d others", method, blocked, open)
	if nothing > 0 {
		detail += fmt.Sprintf(", and %d had nothing to aim at here", nothing)
	}
	if method == sandbox.Landlock {
		return "note", detail + "; bubblewrap covers more (--sandbox lists all)"
	}
	return "ok", detail + " (--sandbox lists all)"
}

// outcome is what became of an attempt, in words for a table.
func outcome(r escapes.Result) (state, detail string) {
	switch {
	case r.Absent:
		return "not tried", r.Detail
	case r.Blocked:
		return "blocked", r.Detail
	case r.Listed:
		return "not covered", "see SECURITY.md"
	}
	return "ESCAPED", r.Detail
}

// tryToEscape makes the attempts in a sandbox that hides what those of sessions
// hide. Nothing is left of them.
func (c commands) tryToEscape(ctx context.Context, level sandbox.Level, method sandbox.Method) (results []escapes.Result, err error) {
	dir, err := placeForAttempts()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "" // a user without one has nothing there that could be hidden
	}
	hidden, err := sandbox.Existing(home, sandbox.DefaultHidden(home, c.Dirs.Data, c.Dirs.Config, c.Dirs.Runtime, c.Dirs.Sockets())...)
	if err != nil {
		return nil, err
	}
	return escapes.Try(ctx, dir, level, method, hidden...)
}

// placeForAttempts makes a directory where attempts can be given files: one that is not
// hidden from sandboxes, as ours are, and that the program of no other sandbox can
// change, as it can change /tmp under Landlock.
func placeForAttempts() (string, error) {
	parent, err := os.UserCacheDir()
	if err == nil {
		err = private.Trusted(parent)
	}
	if errors.Is(err, fs.ErrNotExist) {
		if parent, err = os.UserHomeDir(); err == nil {
			err = private.Trusted(parent)
		}
	}
	if err != nil {
		return "", fmt.Errorf("find a directory for the attempts: %w", err)
	}
	return os.MkdirTemp(parent, ".middleman-doctor-*")
}
