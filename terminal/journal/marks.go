package journal

import (
	"bufio"
	"bytes"
	"io"
	"os"
)

// Marks reads the index of one segment, in the order in which it was written.
// It is not safe for concurrent use.
type Marks struct {
	file   *os.File // nil where there is no index
	r      *bufio.Reader
	header bool // a header was there
	record [recordBytes]byte
	count  int64 // of whole records, the header among them
	last   Mark
}

// OpenMarks opens the index of the segment that begins at first. One that is
// missing or not an index has no marks.
func OpenMarks(dir string, first uint64) *Marks {
	f, err := os.Open(auxPath(dir, first, indexSuffix))
	if err != nil {
		return &Marks{}
	}
	m := &Marks{file: f, r: bufio.NewReaderSize(f, 4096)}
	m.last.Offset = first
	m.header = m.read() && bytes.Equal(m.record[:], indexHeader(nil, first))
	return m
}

// Next returns the next mark, and false at the end. What is damaged is
// skipped: neither offsets nor times decrease.
func (m *Marks) Next() (Mark, bool) {
	for m.header && m.read() {
		mark, ok := parseRecord(m.record[:])
		if ok && mark.Offset >= m.last.Offset && !mark.Time.Before(m.last.Time) {
			m.last = mark
			return mark, true
		}
	}
	return Mark{}, false
}

// read reads the next record; what the end cuts short is none.
func (m *Marks) read() bool {
	if _, err := io.ReadFull(m.r, m.record[:]); err != nil {
		return false
	}
	m.count++
	return true
}

// found tells whether there is an index.
func (m *Marks) found() bool { return m.header }

// whole is how many bytes whole records have, once all were read.
func (m *Marks) whole() int64 { return m.count * recordBytes }

// Close closes the file.
func (m *Marks) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
