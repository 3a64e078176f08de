package confine

import (
	"fmt"

	"middleman/internal/ownpath"
)

// programs refuses a sandbox in which the program could replace what runs outside of it: a
// file that is mounted read-only does not help, because the directory above can be renamed.
func (b *builder) programs() error {
	for _, dir := range append(b.policy.Writable, b.policy.Temp) {
		switch path := b.runs(dir); path {
		case "":
		case b.Executable:
			return fmt.Errorf("it lets a program change %s, and middleman's own executable is %s, which runs outside of it: install middleman elsewhere and go on with that (`middleman server restart --program FILE`), or use --sandbox none", dir, path)
		default:
			return fmt.Errorf("it lets a program change %s, and the server runs %s outside of it: start the server with another one first in its PATH, or use --sandbox none", dir, path)
		}
	}
	return nil
}

// runs returns an executable that the server runs and that whoever can write to dir can
// replace, "" if there is none.
func (b *builder) runs(dir string) string {
	for _, path := range append([]string{b.Executable}, b.Programs...) {
		if dir != "" && ownpath.Reaches(path, dir) {
			return path
		}
	}
	return ""
}
