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

// OpenMarks opens the index of the segment that begins at first. An index that
// is missing or damaged has no marks. The caller closes it.
func OpenMarks(dir string, first uint64) *Marks {
	f, err := openRead(auxPath(dir, first, indexSuffix))
	if err != nil {
		return &Marks{}
	}
	m := &Marks{file: f, r: bufio.NewReaderSize(f, 4096)}
	m.last.Offset = first
	m.header = m.read() && bytes.Equal(m.record[:], indexHeader(nil, first))
	return m
}

// Next returns the next mark, and false at the end. It skips damaged records,
// so neither offsets nor times decrease.
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

// read reads the next record. A record that is cut short by the end of the
// file is none.
func (m *Marks) read() bool {
	if _, err := io.ReadFull(m.r, m.record[:]); err != nil {
		return false
	}
	m.count++
	return true
}

// exists reports whether there is an index.
func (m *Marks) exists() bool { return m.header }

// wholeBytes is the length of the complete records, once all were read.
func (m *Marks) wholeBytes() int64 { return m.count * recordBytes }

// Close closes the file.
func (m *Marks) Close() error {
	if m.file == nil {
		return nil
	}
	return m.file.Close()
}
