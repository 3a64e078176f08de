package journal

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Options says how much is kept.
type Options struct {
	// SegmentBytes is a segment's size; 0 means DefaultSegmentBytes, or a
	// quarter of KeepBytes where that is less.
	SegmentBytes int64
	// KeepBytes is how much is kept at least, in whole segments; 0 keeps all.
	// The files take a segment more.
	KeepBytes int64
}

// Writer appends to a journal. Its methods are safe for concurrent use.
type Writer struct {
	dir         string
	segmentSize uint64
	keep        uint64

	mu       sync.Mutex // guards all below
	file     *os.File   // the last segment; nil when there is none to append to
	first    uint64     // offset of the last segment's first byte
	head     uint64     // offset of the next byte
	segments []segment  // all but the last, for trimming
	failure  error      // why the last append was not kept whole; nil when it was
	gap      uint64     // with failure: the first offset that is not kept
	index    index

	newest atomic.Uint64 // the last segment's first offset
}

// Append adds p to the journal. The head always advances by len(p). Bytes that
// cannot be written are a gap, which ends at the first append that succeeds
// again; the error is the reason for the gap.
func (w *Writer) Append(p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.index.clock.now()
	failing := w.failure != nil // and nothing was kept since
	w.failure = nil
	for len(p) > 0 {
		n := w.writeToSegment(p, now)
		w.head += uint64(n)
		p = p[n:]
		failing = failing && n == 0
		if w.failure != nil {
			if !failing {
				w.gap = w.head
			}
			w.head += uint64(len(p))
			return w.failure
		}
	}
	return nil
}

// writeToSegment writes at most up to the end of the segment and returns how
// many bytes it wrote.
func (w *Writer) writeToSegment(p []byte, now int64) int {
	if w.file == nil || w.head-w.first >= w.segmentSize {
		if err := w.roll(now); err != nil {
			w.failure = err
			return 0
		}
	}
	w.index.output(w.head, now)
	room := w.segmentSize - (w.head - w.first)
	if uint64(len(p)) > room {
		p = p[:room]
	}
	err := fault("append")
	n := 0
	if err == nil {
		n, err = w.file.Write(p)
	}
	if err != nil {
		w.failure = fmt.Errorf("append to journal %s: %w", w.dir, err)
		w.closeSegment(uint64(n))
	}
	return n
}

// closeSegment ends the last segment, which has extra bytes after the head:
// the next append begins a segment after the gap. A segment without bytes is
// removed, because a full disk still creates empty files and the next segment
// may need the name.
func (w *Writer) closeSegment(extra uint64) {
	last := segment{first: w.first, size: w.head + extra - w.first}
	w.file.Close()
	w.file = nil
	w.index.end()
	if last.size > 0 || w.unlink(last.first) != nil {
		w.segments = append(w.segments, last)
	}
}

// unlink removes a segment and the files beside it.
func (w *Writer) unlink(first uint64) error {
	if err := os.Remove(segmentPath(w.dir, first)); err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, suffix := range []string{indexSuffix, keySuffix} {
		// Without its segment it is of no use and in nobody's way.
		_ = os.Remove(auxPath(w.dir, first, suffix))
	}
	return nil
}

// roll begins a segment at the head and trims old ones.
func (w *Writer) roll(now int64) error {
	if w.file != nil {
		w.closeSegment(0)
	}
	if err := fault("roll"); err != nil {
		return fmt.Errorf("begin journal segment: %w", err)
	}
	f, err := os.OpenFile(segmentPath(w.dir, w.head), os.O_CREATE|os.O_EXCL|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("begin journal segment: %w", err)
	}
	w.file, w.first = f, w.head
	w.newest.Store(w.first)
	w.index.begin(w.dir, w.first, w.head, now)
	w.trim()
	return nil
}

// trim removes the oldest segments while the others hold at least as many
// bytes as are to be kept. roll calls it.
func (w *Writer) trim() {
	if w.keep == 0 {
		return
	}
	var total uint64
	for _, s := range w.segments {
		total += s.size
	}
	for len(w.segments) > 0 && total-w.segments[0].size >= w.keep {
		oldest := w.segments[0]
		if w.unlink(oldest.first) != nil {
			return // it stays, and is tried again with the next segment
		}
		total -= oldest.size
		w.segments = w.segments[1:]
	}
}

// Skip advances the head by n bytes that no longer exist anywhere. They are a
// gap, which ends at the next append.
func (w *Writer) Skip(n uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n == 0 {
		return
	}
	if w.file != nil {
		w.closeSegment(0)
	}
	if w.failure == nil {
		w.gap = w.head
	}
	w.head += n
	w.failure = &GapError{Offset: w.gap, Next: w.head}
}

// MarkSize records in the index that the terminal has this size from the head
// on, and returns the mark. Where the index cannot be written, that is no
// error.
func (w *Writer) MarkSize(cols, rows uint16) Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := Mark{Kind: MarkResize, Offset: w.head, Time: time.Unix(0, w.index.clock.now()), Cols: cols, Rows: rows}
	w.index.resize(m)
	return m
}

// Sized returns the newest mark of a size, the zero Mark where there is none.
func (w *Writer) Sized() Mark {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.index.size
}

// SegmentFrom returns the first offset of the first segment that begins at or
// after off; ok is false where there is none yet.
func (w *Writer) SegmentFrom(off uint64) (first uint64, ok bool) {
	if w.newest.Load() < off {
		return 0, false // without waiting for a write
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.segmentFrom(off)
}

// segmentFrom is SegmentFrom, called with mu held.
func (w *Writer) segmentFrom(off uint64) (first uint64, ok bool) {
	i, _ := slices.BinarySearchFunc(w.segments, off, func(s segment, off uint64) int {
		return cmp.Compare(s.first, off)
	})
	if i < len(w.segments) {
		return w.segments[i].first, true
	}
	return w.first, w.file != nil && w.first >= off
}

// Head is the offset of the next byte.
func (w *Writer) Head() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head
}

// Oldest is the offset of the first byte that is kept.
func (w *Writer) Oldest() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case len(w.segments) > 0:
		return w.segments[0].first
	case w.file != nil:
		return w.first
	}
	return w.head
}

// Failure returns the error of the last append, nil where that stored all its
// bytes.
func (w *Writer) Failure() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.failure
}

// Gap returns the first offset of the gap before the head; ok is false where
// there is none.
func (w *Writer) Gap() (from uint64, ok bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.gap, w.failure != nil
}

// Fill stores bytes that a failed append left out. They begin at offset first,
// lie within the gap, and end at the head. On error nothing has changed.
func (w *Writer) Fill(first uint64, p []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failure == nil || len(p) == 0 || first < w.gap || first+uint64(len(p)) != w.head {
		return fmt.Errorf("fill journal %s from offset %d: no gap there", w.dir, first)
	}
	path := segmentPath(w.dir, first)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fill journal: %w", err)
	}
	_, err = f.Write(p)
	if err = errors.Join(err, fault("fill"), f.Sync(), f.Close()); err != nil {
		os.Remove(path)
		return fmt.Errorf("fill journal: %w", err)
	}
	w.segments = append(w.segments, segment{first: first, size: uint64(len(p))})
	w.failure = nil
	return nil
}

// Sync blocks until everything appended is on disk.
func (w *Writer) Sync() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	if err := errors.Join(fault("sync"), w.file.Sync()); err != nil {
		return fmt.Errorf("sync journal %s: %w", w.dir, err)
	}
	return nil
}

// Close closes the last segment without syncing it.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.file == nil {
		return nil
	}
	w.segments = append(w.segments, segment{first: w.first, size: w.head - w.first})
	err := w.file.Close()
	w.file = nil
	w.index.end()
	if err != nil {
		return fmt.Errorf("close journal %s: %w", w.dir, err)
	}
	return nil
}
