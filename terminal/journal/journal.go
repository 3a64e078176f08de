package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Defaults of Options: four segments of 4 MiB.
const (
	DefaultSegmentBytes = 4 << 20
	DefaultKeepBytes    = 4 * DefaultSegmentBytes
)

// minSegmentBytes is the least that a segment has by default.
const minSegmentBytes = 256 << 10

const (
	suffix    = ".log"
	nameWidth = 20 // digits of the largest uint64
)

// GapError says that bytes are missing: they were trimmed, or could not be
// written. Next is the first offset at or after Offset that can be read.
type GapError struct {
	Offset, Next uint64
}

func (e *GapError) Error() string {
	return fmt.Sprintf("journal has no bytes from offset %d to %d", e.Offset, e.Next)
}

// Gap returns the offsets between which bytes are missing.
func (e *GapError) Gap() (from, to uint64) { return e.Offset, e.Next }

// ErrBeyond is returned for an offset past the head.
var ErrBeyond = errors.New("offset is beyond the journal's head")

// segment is a file's place in the journal: bytes [first, first+size).
type segment struct {
	first, size uint64
}

func (s segment) end() uint64 { return s.first + s.size }

func segmentPath(dir string, first uint64) string { return auxPath(dir, first, suffix) }

// auxPath is the path of a file of the segment that begins at first.
func auxPath(dir string, first uint64, suffix string) string {
	return filepath.Join(dir, fmt.Sprintf("%0*d%s", nameWidth, first, suffix))
}

// parseName returns the first offset that a segment's name tells.
func parseName(name string) (uint64, bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	if !ok || len(digits) != nameWidth {
		return 0, false
	}
	first, err := strconv.ParseUint(digits, 10, 64)
	return first, err == nil
}

// scan lists the segments in dir by offset. A missing directory is an empty
// journal. Files with other names are not ours and are skipped.
func scan(dir string) ([]segment, error) {
	entries, err := os.ReadDir(dir) // sorted by name, and so by offset
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list journal %s: %w", dir, err)
	}
	var segments []segment
	for _, entry := range entries {
		first, ok := parseName(entry.Name())
		if !ok || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // trimmed between the two calls
		}
		if err != nil {
			return nil, fmt.Errorf("list journal %s: %w", dir, err)
		}
		segments = append(segments, segment{first: first, size: uint64(info.Size())})
	}
	return segments, nil
}

// locate returns the index of the segment that holds off, or else of the first
// one after off.
func locate(segments []segment, off uint64) (i int, holds bool) {
	i, found := slices.BinarySearchFunc(segments, off, func(s segment, off uint64) int {
		switch {
		case off < s.first:
			return 1
		case off >= s.end():
			return -1
		}
		return 0
	})
	return i, found
}
