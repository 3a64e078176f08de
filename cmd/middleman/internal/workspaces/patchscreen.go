package workspaces

import (
	"bytes"
	"io"
	"os"
	"strings"

	"middleman/internal/plaintext"
)

// patchScreen shows a patch on a terminal, in colour. It spells out control
// characters, because a file can hold some.
type patchScreen struct {
	to     io.Writer
	colour bool
	rest   []byte // an incomplete line
	hunk   bool   // after the first "@@" of a file
}

// newPatchScreen shows a patch on to, in colour unless the user wants none.
func newPatchScreen(to io.Writer) *patchScreen {
	return &patchScreen{to: to, colour: os.Getenv("NO_COLOR") == ""}
}

// maxLine is the length in bytes at which a long line is broken.
const maxLine = 64 << 10

func (s *patchScreen) Write(p []byte) (int, error) {
	s.rest = append(s.rest, p...)
	for {
		end := bytes.IndexByte(s.rest, '\n')
		if end < 0 && len(s.rest) > maxLine {
			end = maxLine
		}
		if end < 0 {
			return len(p), nil
		}
		line := string(s.rest[:end])
		if s.rest[end] == '\n' {
			end++
		}
		s.rest = append(s.rest[:0], s.rest[end:]...)
		if err := s.line(line); err != nil {
			return 0, err
		}
	}
}

// end shows the last line if that has no line feed.
func (s *patchScreen) end() {
	if len(s.rest) > 0 {
		_ = s.line(string(s.rest))
	}
}

func (s *patchScreen) line(line string) error {
	text := plaintext.Text(line)
	if on := s.colourOf(line); s.colour && on != "" {
		text = "\x1b[" + on + "m" + text + "\x1b[m"
	}
	_, err := io.WriteString(s.to, text+"\n")
	return err
}

// colourOf returns the colour that git would use for a line.
func (s *patchScreen) colourOf(line string) string {
	switch {
	case strings.HasPrefix(line, "diff --"):
		s.hunk = false
		return "1"
	case strings.HasPrefix(line, "@@"):
		s.hunk = true
		return "36"
	case !s.hunk:
		return "1"
	case strings.HasPrefix(line, "+"):
		return "32"
	case strings.HasPrefix(line, "-"):
		return "31"
	}
	return ""
}
