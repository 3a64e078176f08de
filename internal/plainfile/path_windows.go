package plainfile

import (
	"fmt"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

// CheckPath refuses a path that leads to something else than its text says: to a
// device, to a stream of a file (FILE:STREAM), or to a file of another name, because
// Windows removes dots and spaces from the end of a name. The error says which part
// is wrong, not the path. It does not look whether there is a file.
func CheckPath(path string) error {
	slashed := filepath.ToSlash(path)
	for _, prefix := range []string{"//?/", "//./", "/??/"} {
		if strings.HasPrefix(slashed, prefix) {
			return fmt.Errorf("after %s Windows takes names of devices: %w", filepath.FromSlash(prefix), ErrRefused)
		}
	}
	for name := range strings.SplitSeq(slashed[len(filepath.VolumeName(path)):], "/") {
		if why := reserved(name); why != "" {
			return fmt.Errorf("%q %s: %w", name, why, ErrRefused)
		}
	}
	return nil
}

// reserved returns why no file has that name, or "".
func reserved(name string) string {
	switch {
	case name == "" || name == "." || name == "..":
		return ""
	case strings.Contains(name, ":"):
		return "names a stream of a file"
	case strings.TrimRight(name, ". ") != name:
		return "ends in a dot or a space, which Windows removes"
	case strings.ContainsAny(name, `<>"|?*`) || strings.ContainsFunc(name, func(r rune) bool { return r < ' ' }):
		return "has a character that Windows allows in no name"
	case !filepath.IsLocal(name):
		return "is the name of a device"
	}
	return ""
}

// Full returns path with the full form of each short name (PROGRA~1), or path itself
// where there is no such file.
func Full(path string) string {
	short, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return path
	}
	full := make([]uint16, windows.MAX_LONG_PATH)
	n, err := windows.GetLongPathName(short, &full[0], uint32(len(full)))
	if err != nil || n == 0 || int(n) > len(full) {
		return path
	}
	return windows.UTF16ToString(full[:n])
}
