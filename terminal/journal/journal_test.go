package journal

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
)

func readAll(t *testing.T, r *Reader, from uint64) []byte {
	t.Helper()
	var out []byte
	buf := make([]byte, 777)
	for {
		n, err := r.ReadAt(buf, from)
		out = append(out, buf[:n]...)
		from += uint64(n)
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// A seeded model: whatever is appended in whatever pieces, with reopening in
// between, every offset that is kept reads back as it was written.
func TestSkipIsAGap(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, skip := range []uint64{0, 5, 7} { // a gap at the begin, then one of two parts
		w.Skip(skip)
	}
	if from, ok := w.Gap(); !ok || from != 0 || w.Head() != 12 {
		t.Errorf("gap from %d, %v, head %d", from, ok, w.Head())
	}
	if err := w.Append([]byte("abc")); err != nil {
		t.Fatal(err)
	}
	w.Skip(1)
	if err := w.Append([]byte("def")); err != nil {
		t.Fatal(err)
	}
	if _, ok := w.Gap(); ok || w.Failure() != nil {
		t.Errorf("a gap is left: %v", w.Failure())
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	r := Open(dir)
	defer r.Close()
	buf := make([]byte, 10)
	for _, x := range []struct {
		off  uint64
		want string
		next uint64
	}{{0, "", 12}, {12, "abc", 0}, {15, "", 16}, {16, "def", 0}} {
		n, err := r.ReadAt(buf, x.off)
		var gap *GapError
		if string(buf[:n]) != x.want || errors.As(err, &gap) != (x.next > 0) || gap != nil && gap.Next != x.next {
			t.Errorf("at %d: %q, %v", x.off, buf[:n], err)
		}
	}
}

func TestReadsBackWhatWasAppended(t *testing.T) {
	for seed := range uint64(8) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir := filepath.Join(t.TempDir(), "journal")
		o := Options{SegmentBytes: 1000, KeepBytes: int64(rng.IntN(3)) * 2000}
		w, err := Create(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		r := Open(dir)
		defer r.Close()
		var all []byte
		for range 120 {
			piece := make([]byte, rng.IntN(400))
			for i := range piece {
				piece[i] = byte(rng.Uint32())
			}
			if err := w.Append(piece); err != nil {
				t.Fatal(err)
			}
			all = append(all, piece...)
			if rng.IntN(20) == 0 {
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				if w, err = Create(dir, o); err != nil {
					t.Fatal(err)
				}
			}
			oldest, head, err := r.Bounds()
			if err != nil || len(all) > 0 && head != uint64(len(all)) {
				t.Fatalf("seed %d: head %d, want %d (%v)", seed, head, len(all), err)
			}
			if o.KeepBytes > 0 && head-oldest < min(uint64(o.KeepBytes), head) {
				t.Fatalf("seed %d: only %d bytes kept", seed, head-oldest)
			}
			from := oldest + rng.Uint64N(head-oldest+1)
			if got := readAll(t, r, from); !bytes.Equal(got, all[from:]) {
				t.Fatalf("seed %d: %d bytes from %d differ from what was written", seed, len(got), from)
			}
		}
		w.Close()
	}
}

func TestKeepsAsMuchAsAsked(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 100, KeepBytes: 400})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 1000 {
		if err := w.Append(make([]byte, 33)); err != nil {
			t.Fatal(err)
		}
		if kept := w.Head() - w.Oldest(); kept < min(w.Head(), 400) || kept > 500 {
			t.Fatalf("at %d: %d bytes kept", w.Head(), kept)
		}
	}
}

func TestBounds(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 10, KeepBytes: 20})
	if err != nil {
		t.Fatal(err)
	}
	w.Append(make([]byte, 55))
	defer w.Close()
	r := Open(dir)
	defer r.Close()
	var gap *GapError
	if _, err := r.ReadAt(make([]byte, 5), 0); !errors.As(err, &gap) || gap.Next != w.Oldest() {
		t.Errorf("a trimmed offset: %v, want a gap up to %d", err, w.Oldest())
	}
	if _, err := r.ReadAt(make([]byte, 5), 55); !errors.Is(err, io.EOF) {
		t.Errorf("at the head: %v, want io.EOF", err)
	}
	if _, err := r.ReadAt(make([]byte, 5), 56); !errors.Is(err, ErrBeyond) {
		t.Errorf("past the head: %v, want ErrBeyond", err)
	}
}

// A write that fails leaves a gap that is reported as one and heals.
func TestGapHeals(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := w.Append([]byte("12345678")); err != nil {
		t.Fatal(err)
	}
	blocker := segmentPath(dir, 8) // the next segment's name is taken, so it cannot be made
	if err := os.Mkdir(blocker, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]byte("lost")); err == nil || w.Failure() == nil {
		t.Fatal("no error for bytes that could not be written")
	}
	if err := os.Remove(blocker); err != nil {
		t.Fatal(err)
	}
	if err := w.Append([]byte("kept")); err != nil || w.Failure() != nil {
		t.Fatalf("did not heal: %v", err)
	}
	r := Open(dir)
	defer r.Close()
	var gap *GapError
	if _, err := r.ReadAt(make([]byte, 5), 8); !errors.As(err, &gap) || gap.Next != 12 {
		t.Fatalf("in the gap: %v", err)
	}
	if got := readAll(t, r, 12); string(got) != "kept" {
		t.Fatalf("after the gap: %q", got)
	}
}

// What was lost at the end and is in memory still is put back.
func TestFill(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Append([]byte("12345678"))
	blocker := segmentPath(dir, 8)
	os.Mkdir(blocker, 0o700)
	if err := w.Append([]byte("lost")); err == nil {
		t.Fatal("no error for bytes that could not be written")
	}
	if from, ok := w.Gap(); !ok || from != 8 {
		t.Fatalf("gap from %d, %v", from, ok)
	}
	if err := w.Fill(8, []byte("lost")); err == nil {
		t.Fatal("filled where nothing can be written")
	}
	os.Remove(blocker)
	if err := w.Fill(7, []byte("8lost")); err == nil {
		t.Fatal("filled what was written before")
	}
	for _, other := range []string{"los", "lost+"} {
		if err := w.Fill(8, []byte(other)); err == nil {
			t.Fatalf("filled %q, which does not end at the head", other)
		}
	}
	if err := w.Fill(8, []byte("lost")); err != nil {
		t.Fatal(err)
	}
	if err := w.Fill(8, []byte("lost")); err == nil {
		t.Fatal("filled twice")
	}
	if err := w.Append([]byte("kept")); err != nil {
		t.Fatal(err)
	}
	r := Open(dir)
	defer r.Close()
	if got := readAll(t, r, 0); string(got) != "12345678lostkept" {
		t.Fatalf("%q", got)
	}
}

// Who reads on from segment to segment looks at no file but the next: to list
// them all is garbage that an owner keeps.
func TestReadingOnListsNothing(t *testing.T) {
	const size, segments, others = 64, 200, 2000
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: size})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range segments {
		if err := w.Append(bytes.Repeat([]byte{byte(i)}, size)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range others {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("other-%d", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := Open(dir)
	defer r.Close()
	buf, off := make([]byte, size), uint64(size/2) // it ends in the middle of the next segment
	read := func() {
		n, err := r.ReadAt(buf, off)
		if err != nil || buf[0] != byte(off/size) {
			t.Fatalf("read from %d: %d bytes, the first %d, %v", off, n, buf[0], err)
		}
		off += size
	}
	read()
	if allocs := testing.AllocsPerRun(segments/2, read); allocs > others/10 {
		t.Errorf("%v allocations for a segment", allocs)
	}
}
