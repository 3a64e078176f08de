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

// CheckName refuses a name that a program cannot open by its path, because Windows
// makes another name, or a device, of it. Such files are made by a path in the form
// of Exact, and by other systems. The error says why, not the name.
func CheckName(name string) error {
	if why := reserved(name); why != "" {
		return fmt.Errorf("its name %s: %w", why, ErrRefused)
	}
	return nil
}

// Exact returns an absolute path in the form by which Windows opens the file of
// exactly these names: it drops no dot or space at the end of a name, and takes none
// for a device. The path must not come from somebody who could name another form in
// it. What filepath.Join makes of the result is exact too.
func Exact(path string) string {
	switch {
	case strings.HasPrefix(path, exactPrefix) || !filepath.IsAbs(path):
		return path
	case strings.HasPrefix(path, `\\`):
		return exactPrefix + `UNC` + filepath.Clean(path)[1:]
	}
	return exactPrefix + filepath.Clean(path)
}

// exactPrefix turns the parsing of a path off, see "Naming Files, Paths, and
// Namespaces" of Microsoft's documentation.
const exactPrefix = `\\?\`

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
