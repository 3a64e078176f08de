package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Create opens the journal in dir for appending, after the last byte on disk.
// It makes the directory (0700) where that is missing. The caller ensures that
// there is one writer, and closes it.
func Create(dir string, o Options) (*Writer, error) {
	w, last, err := open(dir, o)
	if err != nil {
		return nil, err
	}
	w.head = last.end()
	if err := w.reopen(last); err != nil {
		return nil, err
	}
	return w, nil
}

// Resume continues a journal at head, the offset that an earlier Writer had
// reached. Bytes that the earlier Writer could not store at the end are a gap
// for this one too: see Gap and Fill. A journal with bytes after head is an
// error.
func Resume(dir string, o Options, head uint64) (*Writer, error) {
	w, last, err := open(dir, o)
	if err != nil {
		return nil, err
	}
	if last.end() > head {
		return nil, fmt.Errorf("resume journal %s at offset %d: it has bytes up to offset %d", dir, head, last.end())
	}
	w.head = head
	if kept := w.storedEnd(); kept < head {
		w.gap, w.failure = kept, &GapError{Offset: kept, Next: head}
	}
	if err := w.reopen(last); err != nil {
		return nil, err
	}
	return w, nil
}

// open makes a Writer of the segments in dir. last is the last one, or the
// zero segment.
func open(dir string, o Options) (w *Writer, last segment, err error) {
	if o.SegmentBytes <= 0 {
		o.SegmentBytes = DefaultSegmentBytes
		if o.KeepBytes > 0 { // a quarter, where that is enough to be worth a file
			o.SegmentBytes = min(DefaultSegmentBytes, max(minSegmentBytes, o.KeepBytes/4))
		}
	}
	if o.KeepBytes > 0 && o.KeepBytes < o.SegmentBytes {
		o.SegmentBytes = o.KeepBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, last, fmt.Errorf("create journal: %w", err)
	}
	segments, err := scan(dir)
	if err != nil {
		return nil, last, err
	}
	if err := removeLeftovers(dir, segments); err != nil {
		return nil, last, err
	}
	if n := len(segments); n > 0 {
		last = segments[n-1]
	}
	return &Writer{dir: dir, segmentSize: uint64(o.SegmentBytes), keep: uint64(o.KeepBytes), segments: segments}, last, nil
}

// storedEnd is the offset after the last byte on disk.
func (w *Writer) storedEnd() uint64 {
	for i := len(w.segments) - 1; i >= 0; i-- {
		if w.segments[i].size > 0 {
			return w.segments[i].end()
		}
	}
	return 0
}

// reopen appends to the last segment where that ends at the head and has room.
// Otherwise the next append begins a segment.
func (w *Writer) reopen(last segment) error {
	if len(w.segments) == 0 {
		w.index.clock.begin(time.Time{})
		return nil
	}
	w.newest.Store(last.first)
	if last.end() != w.head || last.size >= w.segmentSize {
		w.index.restore(w.dir, last, false)
		return nil
	}
	f, err := os.OpenFile(segmentPath(w.dir, last.first), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return fmt.Errorf("reopen journal segment: %w", err)
	}
	w.file, w.first = f, last.first
	w.segments = w.segments[:len(w.segments)-1]
	w.index.restore(w.dir, last, true)
	return nil
}

// removeLeftovers removes what a killed writer left: half-written keyframes,
// and the index and keyframe of a segment that no longer exists.
func removeLeftovers(dir string, segments []segment) error {
	kept := make(map[uint64]bool, len(segments))
	for _, s := range segments {
		kept[s.first] = true
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("list journal %s: %w", dir, err)
	}
	for _, entry := range entries {
		name := entry.Name()
		digits, found := strings.CutSuffix(name, indexSuffix)
		if !found {
			digits, found = strings.CutSuffix(strings.TrimSuffix(name, tempSuffix), keySuffix)
		}
		first, ours := parseName(digits + suffix)
		if !found || !ours || kept[first] && !strings.HasSuffix(name, tempSuffix) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sweep journal: %w", err)
		}
	}
	return nil
}
