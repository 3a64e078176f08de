package workspaces

import (
	"bytes"
	"io"
	"strings"

	"middleman/internal/plaintext"
)

// patchScreen shows a patch on a terminal: in colour, and with what would
// drive the terminal replaced, because a file can hold that.
type patchScreen struct {
	to     io.Writer
	colour bool
	rest   []byte // of a line that has not ended
	hunk   bool   // after the first "@@" of a file
}

// maxLine is where a line is broken that does not end.
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

// end shows what came after the last line's end.
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

// colourOf is what a line is shown in: as git does.
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
