package sandbox

import (
	"fmt"
	"path/filepath"
	"sort"
	"strings"
)

// seatbeltBase is the part of a profile of sandbox-exec(1) that each session has. Of
// the rules that match, the last decides. Programs cannot be started by others on
// behalf of this one, keys cannot be had, and processes outside get no signals.
const seatbeltBase = `(version 1)
(allow default)
(deny file-write*)
(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/ptmx") (literal "/dev/dtracehelper") (regex #"^/dev/ttys[0-9]+$"))
(allow file-ioctl (literal "/dev/tty") (literal "/dev/ptmx") (regex #"^/dev/ttys[0-9]+$"))
(deny signal)
(allow signal (target same-sandbox))
(deny process-info* (target others))
(deny appleevent-send)
(deny job-creation)
(deny lsopen)
(deny mach-lookup (global-name "com.apple.SecurityServer") (global-name "com.apple.coreservices.launchservicesd") (global-name "com.apple.pasteboard.1"))
(deny system-privilege)
(deny mach-priv-task-port)
`

// seatbeltProfile returns the profile that enforces p.
func seatbeltProfile(p Policy) string {
	var b strings.Builder
	b.WriteString(seatbeltBase)
	if p.Network.Off {
		b.WriteString("(deny network*)\n(allow network* (local ip \"localhost:*\") (remote ip \"localhost:*\"))\n")
	}
	type line struct{ path, rule string }
	var lines []line
	add := func(rule string, paths ...string) {
		for _, path := range paths {
			lines = append(lines, line{path, rule})
		}
	}
	add("(deny file-read* file-write* %s)\n", p.Hidden...)
	add("(allow file-read* %[1]s)\n(deny file-write* %[1]s)\n", p.Show...)
	add("(allow file-read* file-write* %s)\n", append([]string{p.Temp}, p.Writable...)...)
	sort.SliceStable(lines, func(i, j int) bool { return lines[i].path < lines[j].path })
	for _, l := range lines {
		fmt.Fprintf(&b, l.rule, "(subpath "+seatbeltString(l.path)+")")
	}
	// What is shown below a hidden directory is reached through that.
	for _, path := range append(append([]string{p.Temp}, p.Writable...), p.Show...) {
		for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
			fmt.Fprintf(&b, "(allow file-read-metadata (literal %s))\n", seatbeltString(dir))
		}
	}
	for _, path := range p.ReadOnly {
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", seatbeltString(path))
	}
	return b.String()
}

// seatbeltString quotes a path for a profile.
func seatbeltString(path string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(path) + `"`
}
