package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
)

// Reader reads a journal that may be growing. It holds one segment open, so
// that a sequential reader costs one pread(2) a call. Its methods are safe for
// concurrent use.
type Reader struct {
	dir string

	mu    sync.Mutex // guards file and first
	file  *os.File   // the segment that was read last, nil at first
	first uint64     // its first offset
}

// Open returns a Reader of the journal in dir; it does no I/O.
func Open(dir string) *Reader { return &Reader{dir: dir} }

// Bounds returns the offset of the first byte that is kept, and the head: the
// offset after the last byte.
func (r *Reader) Bounds() (oldest, head uint64, err error) {
	segments, err := scan(r.dir)
	if err != nil || len(segments) == 0 {
		return 0, 0, err
	}
	return segments[0].first, segments[len(segments)-1].end(), nil
}

// Segment is a file of the journal: bytes [First, End). Its index and its
// keyframe have the same First.
type Segment struct {
	First, End uint64
}

// Segments lists the segments by offset. Where the End of one is not the First
// of the next, the bytes between are missing.
func (r *Reader) Segments() ([]Segment, error) {
	segments, err := scan(r.dir)
	list := make([]Segment, len(segments))
	for i, s := range segments {
		list[i] = Segment{First: s.first, End: s.end()}
	}
	return list, err
}

// ReadAt reads up to len(p) bytes from off; fewer than asked for is no error.
// At the head it returns 0 and io.EOF, in a gap *GapError, past the head
// ErrBeyond.
func (r *Reader) ReadAt(p []byte, off uint64) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file != nil && off >= r.first {
		n, err := r.file.ReadAt(p, int64(off-r.first))
		if n > 0 {
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read journal: %w", err)
		}
	}
	return r.seek(p, off)
}

// seek finds the segment that holds off, opens it and reads from it. It is
// called with mu held, where the open segment has no byte at off.
func (r *Reader) seek(p []byte, off uint64) (int, error) {
	segments, err := r.find(off)
	if err != nil {
		return 0, err
	}
	i, holds := locate(segments, off)
	if !holds {
		if i < len(segments) && segments[i].size > 0 {
			return 0, &GapError{Offset: off, Next: segments[i].first}
		}
		if n := len(segments); n > 0 && off > segments[n-1].end() || n == 0 && off > 0 {
			return 0, ErrBeyond
		}
		return 0, io.EOF
	}
	f, err := openRead(segmentPath(r.dir, segments[i].first))
	if errors.Is(err, fs.ErrNotExist) && i+1 < len(segments) {
		return 0, &GapError{Offset: off, Next: segments[i+1].first} // trimmed meanwhile
	}
	if err != nil {
		return 0, fmt.Errorf("read journal: %w", err)
	}
	r.closeFile()
	r.file, r.first = f, segments[i].first
	n, err := f.ReadAt(p, int64(off-r.first))
	if n > 0 || err == nil {
		return n, nil
	}
	return 0, fmt.Errorf("read journal: %w", err)
}

// find returns the segments of the journal, or only the one that holds off.
// Full segments have one size, so a sequential reader can guess the next one's
// name instead of listing the directory each time.
func (r *Reader) find(off uint64) ([]segment, error) {
	if r.file == nil || off <= r.first {
		return scan(r.dir)
	}
	if info, err := r.file.Stat(); err == nil && info.Size() > 0 {
		guess := segment{first: off - (off-r.first)%uint64(info.Size())}
		info, err = os.Lstat(segmentPath(r.dir, guess.first))
		if err == nil && info.Mode().IsRegular() {
			guess.size = uint64(info.Size())
			if off < guess.end() {
				return []segment{guess}, nil
			}
		}
	}
	return scan(r.dir)
}

func (r *Reader) closeFile() {
	if r.file != nil {
		r.file.Close()
		r.file = nil
	}
}

// Close closes the segment that is open. The Reader can be used again.
func (r *Reader) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closeFile()
	return nil
}

// NewStream returns the bytes [from, to) as a stream. Bytes that the journal
// does not have end it with a *GapError. Closing it closes r.
func NewStream(r *Reader, from, to uint64) io.ReadCloser {
	return &stream{r: r, off: from, to: to}
}

type stream struct {
	r       *Reader
	off, to uint64
}

func (s *stream) Read(p []byte) (int, error) {
	if s.off >= s.to {
		return 0, io.EOF
	}
	if left := s.to - s.off; uint64(len(p)) > left {
		p = p[:left]
	}
	n, err := s.r.ReadAt(p, s.off)
	if errors.Is(err, io.EOF) || errors.Is(err, ErrBeyond) {
		err = &GapError{Offset: s.off, Next: s.to}
	}
	s.off += uint64(n)
	return n, err
}

func (s *stream) Close() error { return s.r.Close() }
