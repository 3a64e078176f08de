package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
	"unicode/utf8"

	"middleman/terminal/journal"
)

// Header is what an asciicast says of a session beyond its output.
type Header struct {
	Title   string
	Command string
	Env     map[string]string
}

// castHeader is the first line of an asciicast v2.
type castHeader struct {
	Version   int               `json:"version"`
	Width     int               `json:"width"`
	Height    int               `json:"height"`
	Timestamp int64             `json:"timestamp,omitempty"`
	Title     string            `json:"title,omitempty"`
	Command   string            `json:"command,omitempty"`
	Env       map[string]string `json:"env,omitempty"`
}

// Cast returns all that is kept up to the present head as an asciicast v2: one
// JSON value a line, the header and then events of time since the beginning in
// seconds, kind, and text.
//
//	"o"  output
//	"r"  the terminal's size is now "COLUMNSxROWS"
//	"m"  a marker: where it begins when older output is no longer kept, and
//	     where output is missing
//
// A recording that does not begin with the session's first byte begins with
// what the screen showed; what follows a gap does so too, on a reset terminal.
//
// The text is UTF-8. Output that is cut within a character is put together
// with what follows, and bytes that are none become U+FFFD: a cast is for
// looking at, the bytes themselves are in the journal.
//
// It is made as it is read, in bounded memory. The caller closes it.
func (r *Recording) Cast(h Header) (io.ReadCloser, error) {
	segments, head, err := r.segments()
	if err != nil {
		return nil, err
	}
	c := &cast{head: head}
	c.json = json.NewEncoder(&c.out)
	c.json.SetEscapeHTML(false)
	if len(segments) == 0 {
		c.done = true
		return c, c.header(h, r.o.Size.Cols, r.o.Size.Rows, r.o.Started)
	}
	_, key, note := r.keyframeBefore(segments[:1], segments[0].First)
	c.steps, c.next = newIterator(r.dir, segments, head, key), segments[0].First
	if err := c.begin(h, r.o, key, note); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

// cast is an asciicast that is being read.
type cast struct {
	steps   *iterator // nil where there is no output
	head    uint64
	done    bool         // all is in out
	out     bytes.Buffer // what is to be read next
	json    *json.Encoder
	start   time.Time
	last    time.Duration
	next    uint64 // offset of the output that comes next
	partial []byte // the beginning of a character
	text    []byte
}

// Read implements io.Reader.
func (c *cast) Read(p []byte) (int, error) {
	for c.out.Len() == 0 {
		if c.done {
			return 0, io.EOF
		}
		if err := c.advance(); err != nil {
			return 0, err
		}
	}
	return c.out.Read(p)
}

// Close implements io.Closer.
func (c *cast) Close() error {
	if c.steps != nil {
		c.steps.close()
	}
	return nil
}

// begin writes the header, with the size that holds at the first byte, and
// what the screen showed before it.
func (c *cast) begin(h Header, o Options, key journal.Keyframe, note string) error {
	first, err := c.steps.nextStep()
	size := step{cols: cmp.Or(key.Cols, o.Size.Cols), rows: cmp.Or(key.Rows, o.Size.Rows)}
	if err == nil && first.kind == stepSize {
		size = first
	}
	start := first.time
	if start.IsZero() {
		start = o.Started
	}
	if err := c.header(h, size.cols, size.rows, start); err != nil {
		return err
	}
	if note == "" && c.next > 0 {
		note = fmt.Sprintf("begins at offset %d: no older output is kept", c.next)
	}
	if note != "" {
		c.event(start, "m", []byte(note))
	}
	c.output(start, key.Data)
	return c.writeStep(first, err)
}

// advance writes the next step.
func (c *cast) advance() error {
	s, err := c.steps.nextStep()
	return c.writeStep(s, err)
}

// writeStep writes a step. Output that was trimmed before it was read is a
// gap.
func (c *cast) writeStep(s step, err error) error {
	if err != nil {
		if c.steps.skipIfTrimmed(err) {
			return nil
		}
		return err
	}
	switch s.kind {
	case stepOutput:
		if c.next < s.offset {
			c.gap(s.time, s.offset)
			c.redraw(s)
		}
		c.output(s.time, s.data)
		c.next = s.offset + uint64(len(s.data))
	case stepSize:
		c.event(s.time, "r", fmt.Appendf(nil, "%dx%d", s.cols, s.rows))
	case stepEnd:
		if c.next < c.head {
			c.gap(s.time, c.head)
		}
		c.flush()
		c.done = true
	}
	return nil
}

func (c *cast) header(h Header, cols, rows uint16, start time.Time) error {
	c.start = start
	line := castHeader{
		Version: 2, Width: int(cols), Height: int(rows), Title: h.Title, Command: h.Command, Env: h.Env,
	}
	if !start.IsZero() {
		line.Timestamp = start.Unix()
	}
	return c.json.Encode(line)
}

// output writes an event of output. An incomplete character at its end waits
// for the next output.
func (c *cast) output(at time.Time, p []byte) {
	c.text = append(append(c.text[:0], c.partial...), p...)
	whole := len(c.text) - unfinished(c.text)
	c.partial = append(c.partial[:0], c.text[whole:]...)
	if whole > 0 {
		c.event(at, "o", c.text[:whole])
	}
}

// unfinished is the length of the incomplete character at the end of p.
func unfinished(p []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(p); n++ {
		if tail := p[len(p)-n:]; utf8.RuneStart(tail[0]) {
			if utf8.FullRune(tail) {
				return 0
			}
			return n
		}
	}
	return 0
}

// flush writes what there is of an incomplete character, because the output
// does not continue.
func (c *cast) flush() {
	if len(c.partial) > 0 {
		c.event(time.Time{}, "o", c.partial)
		c.partial = c.partial[:0]
	}
}

// gap marks that output is missing up to an offset.
func (c *cast) gap(at time.Time, to uint64) {
	c.flush()
	c.event(at, "m", fmt.Appendf(nil, "output from offset %d to %d is missing", c.next, to))
}

// redraw shows the screen after a gap, where the segment there has a keyframe.
func (c *cast) redraw(s step) {
	key, err := journal.ReadKeyframe(c.steps.dir, s.offset)
	if err != nil {
		return // the marker says that output is missing
	}
	if key.Cols != c.steps.cols || key.Rows != c.steps.rows {
		c.event(s.time, "r", fmt.Appendf(nil, "%dx%d", key.Cols, key.Rows))
	}
	c.steps.applyKeyframe(key)
	c.event(s.time, "o", append([]byte("\x1bc"), key.Data...))
}

// event writes a line. Times never decrease; an unknown time is that of the
// line before.
func (c *cast) event(at time.Time, kind string, text []byte) {
	if !at.IsZero() {
		c.last = max(c.last, at.Sub(c.start))
	}
	fmt.Fprintf(&c.out, "[%d.%06d, %q, ", c.last/time.Second, c.last%time.Second/time.Microsecond, kind)
	// A string can be encoded; what of it is not UTF-8 becomes U+FFFD.
	_ = c.json.Encode(string(text))
	c.out.Truncate(c.out.Len() - 1)
	c.out.WriteString("]\n")
}
