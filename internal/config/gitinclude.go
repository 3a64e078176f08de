package config

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
)

const (
	maxGitFile   = 4 << 20 // bytes of one file of git's settings
	maxGitPlaces = 256     // files of git's settings, with those that they include
)

// included returns the files that a file of git's settings includes, whatever the
// condition: one that git does not read today it may read tomorrow. A file that cannot
// be read has none, for git fails on it too; one that is no regular file is an error.
func included(file string) ([]string, error) {
	text, err := plainfile.ReadFollowed(file, maxGitFile)
	if errors.Is(err, plainfile.ErrRefused) {
		return nil, fmt.Errorf("read git's settings %s: %w", file, err)
	}
	if err != nil {
		return nil, nil //nolint:nilerr // missing, or not for us
	}
	var paths []string
	for _, value := range includes(string(text)) {
		more, err := git.IncludedPaths(context.Background(), value, file, os.Getenv("HOME"))
		if err != nil {
			return nil, fmt.Errorf("read git's settings %s: %w", file, err)
		}
		paths = append(paths, more...)
	}
	return paths, nil
}

// includes returns the values of each path in a section include or includeIf of text, in
// the syntax of git-config(1). It ends where git reports an error of syntax.
func includes(text string) (values []string) {
	s := gitScanner{strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")}
	section := ""
	for s.rest != "" {
		switch c := s.next(); {
		case strings.ContainsRune(" \t\n\v\f\r", rune(c)):
		case c == '#' || c == ';':
			s.line()
		case c == '[':
			name, ok := s.section()
			if !ok {
				return values
			}
			section = name
		case isLetter(c):
			key, value, ok := s.variable(c)
			if !ok {
				return values
			}
			if key == "path" && (section == "include" || section == "includeif.") {
				value, _, _ = strings.Cut(value, "\x00") // where git's own string ends
				values = append(values, value)
			}
		default:
			return values
		}
	}
	return values
}

// gitScanner reads what is left of a file of git's settings.
type gitScanner struct{ rest string }

// next returns the next byte, a line's end where there is none.
func (s *gitScanner) next() byte {
	if s.rest == "" {
		return '\n'
	}
	c := s.rest[0]
	s.rest = s.rest[1:]
	return c
}

// line skips the rest of a line.
func (s *gitScanner) line() { _, s.rest, _ = strings.Cut(s.rest, "\n") }

// section reads to the end of a section's heading, and returns the name in lower case up to
// the dot that parts it from a subsection, which a blank counts as too.
func (s *gitScanner) section() (string, bool) {
	end := strings.IndexAny(s.rest, "]\n \t\"")
	if end < 0 {
		return "", false
	}
	name, _, below := strings.Cut(strings.ToLower(s.rest[:end]), ".")
	if below || s.rest[end] != ']' {
		name += "."
	}
	s.rest = s.rest[end:]
	for quoted := false; s.rest != ""; {
		switch c := s.next(); {
		case c == '\n':
			return "", false
		case c == '"':
			quoted = !quoted
		case c == '\\' && quoted:
			s.next()
		case c == ']' && !quoted:
			return name, true
		}
	}
	return "", false
}

// variable reads a variable that begins with the byte first, and returns its name in
// lower case.
func (s *gitScanner) variable(first byte) (key, value string, ok bool) {
	n := 0
	for n < len(s.rest) && (isLetter(s.rest[n]) || s.rest[n] >= '0' && s.rest[n] <= '9' || s.rest[n] == '-') {
		n++
	}
	key, s.rest = strings.ToLower(string(first)+s.rest[:n]), strings.TrimLeft(s.rest[n:], " \t")
	switch s.next() {
	case '\n':
		return key, "", true
	case '=':
		value, ok = s.value()
		return key, value, ok
	}
	return "", "", false
}

// value reads a value: without blanks at its ends and comments, and as its quotes and
// backslashes say.
func (s *gitScanner) value() (string, bool) {
	var b strings.Builder
	quoted, keep := false, 0 // keep is what does not end in blanks
	for {
		switch c := s.next(); {
		case c == '\n':
			return b.String()[:keep], !quoted
		case !quoted && (c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r'):
			if keep > 0 || b.Len() > 0 {
				b.WriteByte(c)
			}
			continue
		case !quoted && (c == '#' || c == ';'):
			s.line()
			return b.String()[:keep], true
		case c == '"':
			quoted = !quoted
		case c == '\\':
			switch e := s.next(); e {
			case '\n':
				continue
			case 't':
				b.WriteByte('\t')
			case 'b':
				b.WriteByte('\b')
			case 'n':
				b.WriteByte('\n')
			case '\\', '"':
				b.WriteByte(e)
			default:
				return "", false
			}
		default:
			b.WriteByte(c)
		}
		keep = b.Len()
	}
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
