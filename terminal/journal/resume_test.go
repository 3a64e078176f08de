package journal

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// write makes a segment as an earlier writer left it.
func write(t *testing.T, dir string, first uint64, text string) {
	t.Helper()
	if err := os.WriteFile(segmentPath(dir, first), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestResume(t *testing.T) {
	for _, tt := range []struct {
		name     string
		segments map[uint64]string
		head     uint64
		append   string
		gap      []uint64 // its first offset, before anything is appended
		from     uint64
		want     string
		files    int
	}{
		{name: "nothing yet", append: "new", want: "new", files: 1},
		{"a segment with room", map[uint64]string{0: "1234"}, 4, "567", nil, 0, "1234567", 1},
		{"a segment with room for some", map[uint64]string{0: "1234"}, 4, "56789", nil, 0, "123456789", 2},
		{"a full segment", map[uint64]string{0: "12345678"}, 8, "9", nil, 0, "123456789", 2},
		{"an empty last segment", map[uint64]string{0: "12345678", 8: ""}, 8, "9", nil, 0, "123456789", 2},
		{"an empty only segment", map[uint64]string{0: ""}, 0, "1", nil, 0, "1", 1},
		{"trimmed", map[uint64]string{16: "12345678", 24: "9"}, 25, "0", nil, 16, "1234567890", 2},
		{"a gap at the end", map[uint64]string{0: "1234"}, 9, "5", []uint64{4}, 9, "5", 2},
		{"a gap and an empty segment", map[uint64]string{0: "1234", 6: ""}, 9, "5", []uint64{4}, 9, "5", 3},
		{"a gap up to an empty segment", map[uint64]string{0: "1234", 6: ""}, 6, "5", []uint64{4}, 6, "5", 2},
		{"nothing was ever kept", nil, 9, "5", []uint64{0}, 9, "5", 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			for first, text := range tt.segments {
				write(t, dir, first, text)
			}
			w, err := Resume(dir, Options{SegmentBytes: 8}, tt.head)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			if w.Head() != tt.head {
				t.Errorf("head %d, want %d", w.Head(), tt.head)
			}
			from, ok := w.Gap()
			if ok != (tt.gap != nil) || ok && from != tt.gap[0] || ok != (w.Failure() != nil) {
				t.Errorf("gap from %d, %v, failure %v; want %v", from, ok, w.Failure(), tt.gap)
			}
			if err := w.Append([]byte(tt.append)); err != nil {
				t.Fatal(err)
			}
			if _, ok := w.Gap(); ok {
				t.Error("the gap did not heal")
			}
			r := Open(dir)
			defer r.Close()
			if got := string(readAll(t, r, tt.from)); got != tt.want {
				t.Errorf("from %d: %q, want %q", tt.from, got, tt.want)
			}
			if segments, err := scan(dir); err != nil || len(segments) != tt.files {
				t.Errorf("segments %v (%v), want %d", segments, err, tt.files)
			}
		})
	}
}

// A resumed journal fills the gap that the one before could not.
func TestResumeFills(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, "1234")
	w, err := Resume(dir, Options{SegmentBytes: 8}, 8)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Fill(4, []byte("5678")); err != nil {
		t.Fatal(err)
	}
	r := Open(dir)
	defer r.Close()
	if got := string(readAll(t, r, 0)); got != "12345678" {
		t.Errorf("%q", got)
	}
}

// A head below what is there would write bytes twice.
func TestResumeBelow(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, "12345678")
	write(t, dir, 8, "9")
	_, err := Resume(dir, Options{SegmentBytes: 8}, 7)
	if err == nil || !strings.Contains(err.Error(), "offset 7") || !strings.Contains(err.Error(), "offset 9") {
		t.Errorf("%v, want an error that names both offsets", err)
	}
}

func TestResumeUnreadable(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	if err := os.WriteFile(dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Resume(dir, Options{}, 0); err == nil {
		t.Error("resumed in a file")
	}
}

// Create goes on where an empty segment was left, and trims it with its bytes.
func TestCreateAfterAnEmptySegment(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, 0, "12345678")
	write(t, dir, 8, "")
	w, err := Create(dir, Options{SegmentBytes: 8, KeepBytes: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 5 {
		if err := w.Append([]byte("abcdefgh")); err != nil {
			t.Fatal(err)
		}
		r := Open(dir)
		got, err := readFrom(r, w.Oldest())
		r.Close()
		if err != nil || uint64(got) != w.Head()-w.Oldest() {
			t.Fatalf("%d bytes from %d, head %d (%v)", got, w.Oldest(), w.Head(), err)
		}
	}
}

// readFrom counts the bytes from an offset on; a gap is an error.
func readFrom(r *Reader, from uint64) (n int, err error) {
	buf := make([]byte, 5)
	for {
		got, err := r.ReadAt(buf, from)
		n, from = n+got, from+uint64(got)
		var gap *GapError
		if errors.As(err, &gap) {
			return n, err
		}
		if err != nil {
			return n, nil
		}
	}
}
