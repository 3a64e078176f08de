package journal

import (
	"bytes"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

func marksOf(dir string, first uint64) (marks []Mark) {
	m := OpenMarks(dir, first)
	defer m.Close()
	for {
		mark, ok := m.Next()
		if !ok {
			return marks
		}
		marks = append(marks, mark)
	}
}

// tick makes the next append one that has a time of its own.
func tick(w *Writer) {
	w.index.clock.wall += int64(markInterval)
}

func TestIndexTellsTimesAndSizes(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	before := time.Now()
	w.MarkSize(80, 24) // before there is a segment
	for _, p := range []string{"12", "34", "5678", "9"} {
		if err := w.Append([]byte(p)); err != nil {
			t.Fatal(err)
		}
		tick(w)
	}
	resized := w.MarkSize(100, 30)
	w.Append([]byte("0"))
	want := map[uint64][]Mark{
		0: {
			{Kind: MarkSize, Cols: 80, Rows: 24}, {Kind: MarkOutput}, {Kind: MarkOutput, Offset: 2},
			{Kind: MarkOutput, Offset: 4},
		},
		8: {
			{Kind: MarkSize, Offset: 8, Cols: 80, Rows: 24}, {Kind: MarkOutput, Offset: 8},
			{Kind: MarkResize, Offset: 9, Cols: 100, Rows: 30}, {Kind: MarkOutput, Offset: 9},
		},
	}
	last := before
	for _, first := range []uint64{0, 8} {
		marks := marksOf(dir, first)
		if len(marks) != len(want[first]) {
			t.Fatalf("segment %d: %v, want %v", first, marks, want[first])
		}
		for i, m := range marks {
			if m.Time.Before(last) || m.Time.After(time.Now().Add(time.Second)) {
				t.Errorf("segment %d, mark %d: time %v after %v", first, i, m.Time, last)
			}
			if m.Kind == MarkResize && !m.Time.Equal(resized.Time) {
				t.Errorf("resized at %v, the mark says %v", resized.Time, m.Time)
			}
			last, m.Time = m.Time, time.Time{}
			if m != want[first][i] {
				t.Errorf("segment %d, mark %d: %+v, want %+v", first, i, m, want[first][i])
			}
		}
	}
}

// One record stands for at least markInterval, and no index outgrows its
// segment by more than the slack, however small the pieces are.
func TestIndexIsBounded(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	const n = 8000
	for range n {
		tick(w)
		w.Append([]byte{'x'})
		w.MarkSize(80, 24)
	}
	info, err := os.Stat(auxPath(dir, 0, indexSuffix))
	if err != nil || info.Size() > n+4*indexSlack+2*recordBytes {
		t.Errorf("%d bytes of index for %d bytes of output (%v)", info.Size(), n, err)
	}
	w.Append(bytes.Repeat([]byte{'x'}, 10*indexSlack)) // room again
	tick(w)
	w.Append([]byte{'x'})
	marks := marksOf(dir, 0)
	if last := marks[len(marks)-1]; last.Kind != MarkOutput || last.Offset != n+10*indexSlack {
		t.Errorf("the last mark is %+v", last)
	}
}

// Neither a clock that was set back nor one that was set forward makes times
// run backwards, in this process and the next.
func TestTimesNeverDecrease(t *testing.T) {
	dir := t.TempDir()
	var last time.Time
	for i, move := range []time.Duration{0, time.Hour, -2 * time.Hour, 0} {
		w, err := Create(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		w.index.clock.wall += int64(max(0, move))
		w.index.clock.start = w.index.clock.start.Add(max(0, -move)) // the monotonic clock stood still
		m := w.MarkSize(80, uint16(24+i))
		w.Append([]byte("x"))
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if !m.Time.After(last) {
			t.Errorf("writer %d: %v is not after %v", i, m.Time, last)
		}
		last = m.Time
	}
	if marks := marksOf(dir, 0); len(marks) < 6 {
		t.Errorf("marks %v", marks)
	}
}

// A machine that slept is behind by what its monotonic clock did not count.
func TestClockFollowsTheWallForward(t *testing.T) {
	var c clock
	c.begin(time.Time{})
	c.wall -= int64(time.Hour)
	if d := time.Now().UnixNano() - c.now(); d > int64(time.Second) {
		t.Errorf("%v behind the wall clock", time.Duration(d))
	}
}

// What is wrong with an index costs times and nothing else.
func TestDamagedIndex(t *testing.T) {
	for _, tt := range []struct {
		name  string
		harm  func(p []byte) []byte
		marks int // that are left of 5
	}{
		{"missing", func([]byte) []byte { return nil }, 0},
		{"empty", func([]byte) []byte { return []byte{} }, 0},
		{"truncated header", func(p []byte) []byte { return p[:10] }, 0},
		{"another version", func(p []byte) []byte { p[7]++; return p }, 0},
		{"another segment's", func(p []byte) []byte { p[8]++; return p }, 0},
		{"truncated", func(p []byte) []byte { return p[:len(p)-1] }, 4},
		{"a damaged record", func(p []byte) []byte { p[recordBytes+3]++; return p }, 4},
		{"an unknown kind", func(p []byte) []byte {
			m, _ := parseRecord(p[recordBytes:])
			m.Kind = 99
			copy(p[recordBytes:], appendRecord(nil, m))
			return p
		}, 4},
		{"records twice", func(p []byte) []byte { return append(p, p[recordBytes:]...) }, 6}, // the last one again
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			w, err := Create(dir, Options{})
			if err != nil {
				t.Fatal(err)
			}
			for range 5 {
				w.Append([]byte("x"))
				tick(w)
			}
			w.Close()
			path := auxPath(dir, 0, indexSuffix)
			p, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if p = tt.harm(p); p == nil {
				os.Remove(path)
			} else if err := os.WriteFile(path, p, 0o600); err != nil {
				t.Fatal(err)
			}
			if got := len(marksOf(dir, 0)); got != tt.marks {
				t.Errorf("%d marks, want %d", got, tt.marks)
			}
			if w, err = Create(dir, Options{}); err != nil {
				t.Fatal(err)
			}
			defer w.Close()
			w.MarkSize(132, 43)
			if err := w.Append([]byte("y")); err != nil {
				t.Fatal(err)
			}
			marks := marksOf(dir, 0)
			if n := len(marks); n == 0 || w.Sized().Cols != 132 || !hasResize(marks) {
				t.Errorf("after a restart: %v", marks)
			}
			r := Open(dir)
			defer r.Close()
			if got := string(readAll(t, r, 0)); got != "xxxxxy" {
				t.Errorf("%q", got)
			}
		})
	}
}

func hasResize(marks []Mark) bool {
	for _, m := range marks {
		if m.Kind == MarkResize {
			return true
		}
	}
	return false
}

// An index that cannot be made leaves the output alone, and the next segment
// has one again, with the size that holds.
func TestIndexThatCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 8})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if err := os.Mkdir(auxPath(dir, 0, indexSuffix), 0o700); err != nil {
		t.Fatal(err)
	}
	w.Append([]byte("1234"))
	w.MarkSize(100, 30)
	if err := w.Append([]byte("56789")); err != nil {
		t.Fatal(err)
	}
	r := Open(dir)
	defer r.Close()
	if got := string(readAll(t, r, 0)); got != "123456789" || len(marksOf(dir, 0)) != 0 {
		t.Errorf("%q", got)
	}
	if marks := marksOf(dir, 8); len(marks) != 2 || marks[0].Kind != MarkSize || marks[0].Cols != 100 {
		t.Errorf("the next segment: %v", marks)
	}
}

// What a disk took no part of is written with what follows.
func TestIndexWritesAgain(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	w.Append([]byte("x"))
	whole := w.index.file
	if w.index.file, err = os.Open(whole.Name()); err != nil { // takes no writes
		t.Fatal(err)
	}
	for range 2 * pendingRecords {
		tick(w)
		w.Append([]byte("x"))
	}
	w.MarkSize(100, 30)
	w.index.file.Close()
	w.index.file = whole
	tick(w)
	w.Append([]byte("x"))
	marks := marksOf(dir, 0)
	if n := len(marks); n < pendingRecords/2 || !hasResize(marks) {
		t.Errorf("%d marks: %v", n, marks)
	}
}

func TestKeyframes(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir, Options{SegmentBytes: 8, KeepBytes: 16})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	if _, ok := w.SegmentFrom(0); ok {
		t.Error("a segment before there is one")
	}
	w.Append(make([]byte, 20))
	for _, tt := range []struct{ from, want uint64 }{{0, 0}, {1, 8}, {8, 8}, {9, 16}, {16, 16}} {
		if first, ok := w.SegmentFrom(tt.from); !ok || first != max(tt.want, w.Oldest()) {
			t.Errorf("from %d: %d, %v, want %d", tt.from, first, ok, tt.want)
		}
	}
	if _, ok := w.SegmentFrom(17); ok {
		t.Error("a segment after the last")
	}
	want := Keyframe{Offset: 16, Cols: 80, Rows: 24, Sized: time.Unix(3, 4), Data: []byte("the screen")}
	if err := w.PutKeyframe(want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadKeyframe(dir, 16)
	if err != nil || string(got.Data) != "the screen" || got.Cols != 80 || got.Rows != 24 || !got.Sized.Equal(want.Sized) {
		t.Errorf("%+v (%v), want %+v", got, err, want)
	}
	if _, err := ReadKeyframe(dir, 8); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing keyframe: %v", err)
	}
	path := auxPath(dir, 16, keySuffix)
	// On Windows the directory's descriptor says who may read, and files have no modes.
	if info, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		t.Errorf("mode %v (%v)", info.Mode(), err)
	}
	p, _ := os.ReadFile(path)
	for i := range p {
		p[i] ^= 1
		os.WriteFile(path, p, 0o600)
		if _, err := ReadKeyframe(dir, 16); err == nil {
			t.Fatalf("took a keyframe with byte %d damaged", i)
		}
		p[i] ^= 1
	}
	os.WriteFile(path, p[:len(p)-1], 0o600)
	if _, err := ReadKeyframe(dir, 16); err == nil {
		t.Error("took half a keyframe")
	}
}

// Index and keyframe go with their segment, and a keyframe that comes too late
// is not written; what a writer that was killed left is swept.
func TestTrimTakesAll(t *testing.T) {
	dir := t.TempDir()
	o := Options{SegmentBytes: 8, KeepBytes: 16}
	w, err := Create(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	rng := rand.New(rand.NewPCG(1, 1))
	for range 50 {
		w.Append(make([]byte, rng.IntN(12)))
		first, ok := w.SegmentFrom(w.Oldest())
		if ok {
			w.PutKeyframe(Keyframe{Offset: first})
		}
		w.PutKeyframe(Keyframe{Offset: first + 1}) // no segment begins there
	}
	if err := w.PutKeyframe(Keyframe{Offset: 0}); err != nil {
		t.Error(err)
	}
	w.Close()
	for _, name := range []string{"00000000000000000001.idx", "00000000000000000001.key", "00000000000000000001.key.new"} {
		os.WriteFile(dir+"/"+name, nil, 0o600)
	}
	os.WriteFile(dir+"/notours.idx", nil, 0o600)
	if w, err = Create(dir, o); err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	segments, _ := scan(dir)
	kept := map[string]bool{}
	for _, s := range segments {
		kept[strings.TrimSuffix(segmentPath("", s.first), suffix)] = true
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		stem, _, _ := strings.Cut(e.Name(), ".")
		if !kept[stem] && e.Name() != "notours.idx" || strings.HasSuffix(e.Name(), tempSuffix) {
			t.Errorf("left %s", e.Name())
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(appendRecord(nil, Mark{Kind: MarkResize, Offset: 7, Time: time.Unix(1, 2), Cols: 3, Rows: 4}))
	f.Fuzz(func(t *testing.T, p []byte) {
		if len(p) < recordBytes {
			return
		}
		if m, ok := parseRecord(p); ok && p[21] == 0 && !bytes.Equal(appendRecord(nil, m), p[:recordBytes]) {
			t.Errorf("%x is %+v, which is not it", p[:recordBytes], m)
		}
	})
}

func FuzzKeyframe(f *testing.F) {
	k := Keyframe{Offset: 7, Cols: 3, Rows: 4, Sized: time.Unix(1, 2), Data: []byte("x")}
	f.Add(append(k.header(), k.Data...))
	f.Fuzz(func(t *testing.T, p []byte) {
		if k, ok := parseKeyframe(p); ok && !bytes.Equal(append(k.header(), k.Data...), p) {
			t.Errorf("%x is %+v, which is not it", p, k)
		}
	})
}
