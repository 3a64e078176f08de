package recording

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// session is what a viewer saw who saw all: pieces of output and sizes, each
// from an offset on.
type session struct {
	t      *testing.T
	dir    string
	w      *journal.Writer
	screen *vt.Terminal // the owner's, which makes keyframes
	all    []byte
	sizes  []journal.Mark
}

func newSession(t *testing.T, o journal.Options) *session {
	t.Helper()
	s := &session{t: t, dir: filepath.Join(t.TempDir(), "journal")}
	w, err := journal.Create(s.dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	s.w = w
	s.screen = vt.New(vt.Options{Cols: 80, Rows: 24})
	s.sizes = []journal.Mark{w.MarkSize(80, 24)}
	return s
}

// print appends p, and makes the keyframes of the segments that it begins.
func (s *session) print(p []byte) {
	s.t.Helper()
	off := uint64(len(s.all))
	if err := s.w.Append(p); err != nil {
		s.t.Fatal(err)
	}
	s.all = append(s.all, p...)
	for from := max(off, 1); ; {
		first, ok := s.w.SegmentFrom(from)
		if !ok {
			break
		}
		s.screen.Write(s.all[off:first])
		off, from = first, first+1
		s.keyframe(first)
	}
	s.screen.Write(s.all[off:])
}

func (s *session) keyframe(at uint64) {
	s.t.Helper()
	cols, rows := s.screen.Size()
	err := s.w.PutKeyframe(journal.Keyframe{
		Offset: at, Cols: uint16(cols), Rows: uint16(rows), Sized: s.w.Sized().Time,
		Data: s.screen.AppendSnapshot(nil, vt.SnapshotOptions{Scrollback: 1000}),
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *session) resize(cols, rows uint16) {
	s.sizes = append(s.sizes, s.w.MarkSize(cols, rows))
	s.screen.Resize(int(cols), int(rows))
}

// later resizes, returns when that was by the journal's clock, and lets some
// time pass, so that what is printed next has a mark of its own.
func (s *session) later(d time.Duration) time.Time {
	s.resize(80, uint16(24+len(s.sizes)))
	at := s.w.Sized().Time
	for time.Since(at) < d {
	}
	return at
}

// at is the screen of a viewer who saw all up to off.
func (s *session) at(off uint64) *vt.Terminal {
	v := vt.New(vt.Options{Cols: 80, Rows: 24})
	from := uint64(0)
	for _, m := range s.sizes {
		if m.Offset > off {
			break
		}
		v.Write(s.all[from:m.Offset])
		v.Resize(int(m.Cols), int(m.Rows))
		from = m.Offset
	}
	v.Write(s.all[from:off])
	return v
}

func drawn(t *vt.Terminal) string {
	cols, rows := t.Size()
	return fmt.Sprintf("%dx%d\n%s", cols, rows, t.AppendSnapshot(nil, vt.SnapshotOptions{}))
}

// check compares the screen as of off with that of a viewer who saw all.
func (s *session) check(off uint64) {
	s.t.Helper()
	got, err := Open(s.dir, Options{}).At(off)
	if err != nil {
		s.t.Fatalf("at %d: %v", off, err)
	}
	if want := s.at(off); drawn(got.Terminal) != drawn(want) || got.Note != "" || got.Offset != off {
		s.t.Fatalf("at %d of %d (%q): got\n%s\nwant\n%s", off, len(s.all), got.Note, got.Terminal.Text(vt.TextOptions{}), want.Text(vt.TextOptions{}))
	}
}

// piece is output of many kinds: text, colours, modes, the alternate screen,
// cut anywhere.
func piece(rng *rand.Rand) []byte {
	kinds := []string{
		"plain text ", "\r\n", "\x1b[1;31mred\x1b[m", "\x1b[H", "\x1b[2J", "\x1b[?1049h", "\x1b[?1049l", "\x1b[5;20r",
		"wide 日本語 ", "\x1b[?7l", "\x1b[?7h", "\x1b]2;title\x07", "\x1b[10;10H", "e\u0301\U0001F469\u200D\U0001F4BB",
		strings.Repeat("long line ", 20), "\x1b[6n", "\x1b[L", "\x1b[K", "\x1b[48;2;1;2;3m", "\x1b7", "\x1b8", "\xff\xfe",
	}
	var b []byte
	for range 1 + rng.IntN(8) {
		b = append(b, kinds[rng.IntN(len(kinds))]...)
	}
	return b[:len(b)-rng.IntN(min(4, len(b)))]
}

// A seeded model: at any kept offset, over trimmed segments, resizes and a
// writer that was resumed, the screen equals that of a viewer who saw all.
func TestAtEqualsAViewerWhoSawAll(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 2))
		o := journal.Options{SegmentBytes: 700 + int64(rng.IntN(700)), KeepBytes: int64(seed%3) * 3000}
		s := newSession(t, o)
		for range 150 {
			s.print(piece(rng))
			for rng.IntN(6) == 0 {
				s.resize(uint16(2+rng.IntN(120)), uint16(1+rng.IntN(50)))
			}
			if rng.IntN(40) == 0 {
				head := s.w.Head()
				s.w.Close()
				w, err := journal.Resume(s.dir, o, head)
				if err != nil {
					t.Fatal(err)
				}
				s.w = w
			}
		}
		oldest, head := s.w.Oldest(), s.w.Head()
		if o.KeepBytes > 0 && oldest == 0 {
			t.Fatal("nothing was trimmed")
		}
		for range 60 {
			s.check(oldest + rng.Uint64N(head-oldest+1))
		}
		segments, _ := journal.Open(s.dir).Segments()
		for _, segment := range segments {
			s.check(segment.First)
			s.check(segment.End)
		}
		s.w.Close()
	}
}

// A keyframe that is missing costs time, not the screen.
func TestAtWithoutItsKeyframe(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 3))
	s := newSession(t, journal.Options{SegmentBytes: 500})
	for range 60 {
		s.print(piece(rng))
		s.resize(uint16(20+rng.IntN(60)), 24)
	}
	keys, err := filepath.Glob(filepath.Join(s.dir, "*.key"))
	if err != nil || len(keys) < 4 {
		t.Fatalf("keyframes %v (%v)", keys, err)
	}
	os.Remove(keys[len(keys)-1])
	os.WriteFile(keys[len(keys)-2], []byte("damaged"), 0o600)
	s.check(s.w.Head())
	for _, key := range keys {
		os.Remove(key)
	}
	s.check(s.w.Head())
}

func TestAtSaysWhatIsMissing(t *testing.T) {
	trimmed := func(t *testing.T) *session {
		s := newSession(t, journal.Options{SegmentBytes: 100, KeepBytes: 200})
		s.resize(40, 10)
		for i := range 100 {
			s.print(fmt.Appendf(nil, "line %d\r\n", i))
		}
		return s
	}
	t.Run("no keyframe", func(t *testing.T) {
		s := trimmed(t)
		keys, _ := filepath.Glob(filepath.Join(s.dir, "*.key"))
		for _, key := range keys {
			os.Remove(key)
		}
		got, err := Open(s.dir, Options{}).At(s.w.Head())
		if err != nil {
			t.Fatal(err)
		}
		cols, rows := got.Terminal.Size()
		if !strings.Contains(got.Note, fmt.Sprint(s.w.Oldest())) || cols != 40 || rows != 10 {
			t.Errorf("%dx%d, note %q", cols, rows, got.Note)
		}
		if text := got.Terminal.Text(vt.TextOptions{}); !strings.Contains(text, "line 99\n") {
			t.Errorf("%s", text)
		}
	})
	t.Run("no index", func(t *testing.T) {
		s := newSession(t, journal.Options{})
		s.print([]byte("hello"))
		os.Remove(filepath.Join(s.dir, "00000000000000000000.idx"))
		r := Open(s.dir, Options{Size: terminal.Size{Cols: 33, Rows: 7}})
		got, err := r.At(5)
		if err != nil {
			t.Fatal(err)
		}
		if cols, rows := got.Terminal.Size(); cols != 33 || rows != 7 || got.Note == "" || got.Terminal.Text(vt.TextOptions{}) != "hello\n" {
			t.Errorf("%dx%d, note %q", cols, rows, got.Note)
		}
		if _, err := r.OffsetAt(time.Now()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("an offset without times: %v", err)
		}
	})
	t.Run("trimmed", func(t *testing.T) {
		s := trimmed(t)
		_, err := Open(s.dir, Options{}).At(s.w.Oldest() - 1)
		if e, ok := errors.AsType[*terminal.TrimmedError](err); !ok || e.Oldest != s.w.Oldest() {
			t.Errorf("%v", err)
		}
	})
	t.Run("beyond", func(t *testing.T) {
		s := trimmed(t)
		if _, err := Open(s.dir, Options{}).At(s.w.Head() + 1); !errors.Is(err, terminal.ErrRange) {
			t.Errorf("%v", err)
		}
	})
	t.Run("nothing yet", func(t *testing.T) {
		got, err := Open(t.TempDir(), Options{Size: terminal.Size{Cols: 30, Rows: 5}}).At(0)
		if err != nil || got.Terminal.Text(vt.TextOptions{}) != "" {
			t.Errorf("%v", err)
		}
	})
}

// gap makes a session with output that was lost to a full disk.
func gap(t *testing.T) (s *session, from, to uint64) {
	s = newSession(t, journal.Options{SegmentBytes: 64})
	s.print(bytes.Repeat([]byte("before\r\n"), 8))
	blocker := filepath.Join(s.dir, fmt.Sprintf("%020d.log", len(s.all)))
	if err := os.Mkdir(blocker, 0o700); err != nil {
		t.Fatal(err)
	}
	from = uint64(len(s.all))
	lost := []byte("lost\r\n")
	if err := s.w.Append(lost); err == nil {
		t.Fatal("the disk is not full")
	}
	s.all = append(s.all, lost...)
	s.screen.Write(lost)
	os.Remove(blocker)
	to = uint64(len(s.all))
	s.print([]byte("after\r\n"))
	return s, from, to
}

func TestAtAroundAGap(t *testing.T) {
	s, from, to := gap(t)
	s.check(from)
	s.check(to)
	s.check(s.w.Head())
	r := Open(s.dir, Options{})
	_, err := r.At(from + 2)
	if e, ok := errors.AsType[*journal.GapError](err); !ok || e.Offset != from || e.Next != to {
		t.Errorf("in the gap: %v", err)
	}
	os.Remove(filepath.Join(s.dir, fmt.Sprintf("%020d.key", to)))
	got, err := r.At(s.w.Head())
	if err != nil || !strings.Contains(got.Note, fmt.Sprintf("%d to %d", from, to)) {
		t.Errorf("behind the gap without a keyframe: %q, %v", got.Note, err)
	}
	if text := got.Terminal.Text(vt.TextOptions{}); !strings.HasSuffix(text, "before\nafter\n") {
		t.Errorf("%s", text)
	}
	_, err = Open(s.dir, Options{Head: s.w.Head() + 10}).At(s.w.Head() + 3)
	if _, ok := errors.AsType[*journal.GapError](err); !ok {
		t.Errorf("in the gap at the end: %v", err)
	}
}

func TestOffsetAt(t *testing.T) {
	s := newSession(t, journal.Options{SegmentBytes: 50, KeepBytes: 150})
	type moment struct {
		at     time.Time // when the output up to offset was there
		offset uint64
	}
	start := time.Now().Add(-time.Second)
	var moments []moment
	for i := range 30 {
		s.print(fmt.Appendf(nil, "line %d\r\n", i))
		moments = append(moments, moment{s.later(11 * time.Millisecond), s.w.Head()})
	}
	r := Open(s.dir, Options{})
	for i, m := range moments {
		got, err := r.OffsetAt(m.at)
		if m.offset < s.w.Oldest() {
			if e, ok := errors.AsType[*terminal.TrimmedError](err); !ok || e.Oldest != s.w.Oldest() {
				t.Errorf("moment %d, before the oldest: %d, %v", i, got, err)
			}
		} else if m.offset > s.w.Oldest() && (err != nil || got != m.offset) {
			t.Errorf("moment %d: %d, %v, want %d", i, got, err, m.offset)
		}
	}
	if got, err := r.OffsetAt(time.Now().Add(time.Hour)); err != nil || got != s.w.Head() {
		t.Errorf("later than all: %d, %v", got, err)
	}
	if _, err := r.OffsetAt(start); err == nil {
		t.Error("an offset before the oldest kept")
	}
	young := newSession(t, journal.Options{})
	young.print([]byte("x"))
	if got, err := Open(young.dir, Options{}).OffsetAt(start); err != nil || got != 0 {
		t.Errorf("before the session: %d, %v", got, err)
	}
	if got, err := Open(t.TempDir(), Options{}).OffsetAt(start); err != nil || got != 0 {
		t.Errorf("of a session without output: %d, %v", got, err)
	}
}
