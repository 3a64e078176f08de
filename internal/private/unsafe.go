package private

import "strings"

// UnsafeError says why a path is not safe. Nothing was read or changed.
type UnsafeError struct {
	Path     string
	Problems []Problem // at least one, from the root down
}

// Problem is one thing that is wrong with a file or a directory.
type Problem struct {
	Path string
	// What is wrong: the rest of a sentence that begins with the path.
	What string
	// Foreign: it belongs to another user.
	Foreign bool
	// Loose: chmod is enough to make it safe.
	Loose bool
}

// String returns the problem as a sentence.
func (p Problem) String() string { return p.Path + " " + p.What }

func (e *UnsafeError) add(p *Problem) {
	if p != nil {
		e.Problems = append(e.Problems, *p)
	}
}

func (e *UnsafeError) orNil() error {
	if len(e.Problems) == 0 {
		return nil
	}
	return e
}

// Error names the problems, and the chmod command that corrects those that are
// Loose.
func (e *UnsafeError) Error() string {
	var said, loose []string
	foreign := false
	for _, p := range e.Problems {
		if p.Foreign && foreign {
			continue // what is below another user's directory is usually theirs too
		}
		foreign = foreign || p.Foreign
		said = append(said, p.String())
		if p.Loose {
			loose = append(loose, quote(p.Path))
		}
	}
	text := e.Path + " is refused: " + strings.Join(said, "; ")
	if len(loose) > 0 {
		text += "; run: chmod go-w " + strings.Join(loose, " ")
	}
	return text
}

// Foreign reports whether a component of the path belongs to another user.
func (e *UnsafeError) Foreign() bool {
	for _, p := range e.Problems {
		if p.Foreign {
			return true
		}
	}
	return false
}

// quote quotes a path as one word for a shell.
func quote(path string) string {
	if strings.Trim(path, "/.-_+,:@%abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789") == "" {
		return path
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}
