package systemd

import "strings"

// Unit is the systemd unit of a process. The zero Unit means none.
type Unit struct {
	// Name is the unit's name, such as "middleman.service".
	Name string
	// User says that the unit belongs to a user's manager.
	User bool
}

// Service reports whether the unit is a service. Stopping a service, or running
// out of memory in it, may end every process in it.
func (u Unit) Service() bool { return strings.HasSuffix(u.Name, ".service") }

// session reports whether the unit is the scope of one of our sessions.
// Stopping the session ends every process in it.
func (u Unit) session() bool {
	return strings.HasPrefix(u.Name, scopePrefix) && strings.HasSuffix(u.Name, ".scope")
}

// parseUnit finds the unit in the text of /proc/PID/cgroup (cgroups(7)). It
// prefers the unified hierarchy, and falls back to systemd's own v1 hierarchy.
func parseUnit(text string) (u Unit) {
	for line := range strings.Lines(text) {
		_, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		controllers, path, _ := strings.Cut(rest, ":")
		if controllers == "" || controllers == "name=systemd" && u.Name == "" {
			if at := unitAt(path); at.Name != "" {
				u = at
			}
		}
	}
	return u
}

// unitAt returns the innermost service or scope in a cgroup's path.
func unitAt(path string) Unit {
	parts := strings.Split(path, "/")
	for i := len(parts) - 1; i >= 0; i-- {
		if !strings.HasSuffix(parts[i], ".service") && !strings.HasSuffix(parts[i], ".scope") {
			continue
		}
		u := Unit{Name: parts[i]}
		for _, above := range parts[:i] {
			u.User = u.User || strings.HasPrefix(above, "user@") && strings.HasSuffix(above, ".service")
		}
		return u
	}
	return Unit{}
}
