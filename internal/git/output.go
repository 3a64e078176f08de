package git

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"strings"

	"middleman/internal/contain"
	"middleman/internal/plaintext"
)

// collector keeps the whole output of a command, up to maxOutput bytes.
type collector struct{ bytes.Buffer }

func (c *collector) Write(p []byte) (int, error) {
	if c.Len()+len(p) > maxOutput {
		return 0, fmt.Errorf("more than %d bytes of output", maxOutput)
	}
	return c.Buffer.Write(p)
}

// splitter calls each for every record that ends with the byte end.
type splitter struct {
	each func(record string)
	end  byte
	rest []byte
}

func (s *splitter) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		head, tail, ended := bytes.Cut(rest, []byte{s.end})
		if len(s.rest)+len(head) > maxRecord {
			return 0, fmt.Errorf("a record of more than %d bytes", maxRecord)
		}
		s.rest = append(s.rest, head...)
		if ended {
			// os/exec calls this in its own goroutine, where no caller could
			// recover from a panic.
			if err := contain.Call(func() error { s.each(string(s.rest)); return nil }); err != nil {
				return 0, err
			}
			s.rest = s.rest[:0]
		}
		rest = tail
	}
	return len(p), nil
}

// tail keeps the last 8 KiB of git's standard error.
type tail struct {
	kept   []byte
	also   io.Writer // gets a copy of everything; may be nil
	failed error     // the error of also, or nil
	line   []byte    // the beginning of a line that has not ended
	// unlisted is the first message that git could not look into a directory, "" for none.
	unlisted string
}

func (t *tail) Write(p []byte) (int, error) {
	if t.also != nil {
		// os/exec calls this in its own goroutine, where no caller could
		// recover from a panic.
		if t.failed = contain.Call(func() error { _, err := t.also.Write(p); return err }); t.failed != nil {
			return 0, t.failed
		}
	}
	const most = 8 << 10
	for part := range bytes.Lines(p) {
		if t.line = append(t.line, part...); part[len(part)-1] != '\n' {
			break
		}
		t.noteUnlisted(string(t.line))
		t.line = t.line[:0]
	}
	t.line = t.line[:min(len(t.line), most)]
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - most; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(p), nil
}

// noteUnlisted notes the line in which git says that it could not look into a directory:
// it lists nothing of that, and ends with 0. One that is gone has nothing to list, except on
// Windows, where names are there that git cannot open.
func (t *tail) noteUnlisted(line string) {
	why, ok := strings.CutPrefix(strings.TrimSpace(line), "warning: could not open directory ")
	gone := runtime.GOOS != "windows" && (strings.HasSuffix(why, ": No such file or directory") || strings.HasSuffix(why, ": Not a directory"))
	if ok && !gone && t.unlisted == "" {
		const most = 400
		if len(why) > most {
			why = why[:most/2] + "..." + why[len(why)-most/2:]
		}
		t.unlisted = plaintext.Quoted("could not open directory " + why)
	}
}

// reason returns the last line that begins with "fatal: " or "error: ", else
// the last line.
func (t *tail) reason() string {
	var last, marked string
	for line := range strings.Lines(string(t.kept)) {
		line = strings.TrimSpace(line)
		if line == "" {
			continue
		}
		last = line
		for _, mark := range []string{"fatal: ", "error: "} {
			if why, ok := strings.CutPrefix(line, mark); ok {
				marked = why
			}
		}
	}
	if marked == "" {
		marked = last
	}
	return plaintext.Quoted(marked)
}
