package recording

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"middleman/terminal"
	"middleman/terminal/journal"
	"middleman/terminal/vt"
)

// played is an asciicast as a player has it.
type played struct {
	header struct {
		Version, Width, Height int
		Timestamp              int64
		Title, Command         string
		Env                    map[string]string
	}
	screen *vt.Terminal
	events []event
}

type event struct {
	at         float64
	kind, text string
}

// play reads an asciicast v2 as its specification has it.
func play(t *testing.T, data []byte) *played {
	t.Helper()
	if !utf8.Valid(data) {
		t.Fatal("the cast is not UTF-8")
	}
	p := &played{}
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 16<<20)
	lines.Scan()
	if err := json.Unmarshal(lines.Bytes(), &p.header); err != nil {
		t.Fatalf("header %s: %v", lines.Bytes(), err)
	}
	p.screen = vt.New(vt.Options{Cols: p.header.Width, Rows: p.header.Height})
	for lines.Scan() {
		var e event
		if err := json.Unmarshal(lines.Bytes(), &[]any{&e.at, &e.kind, &e.text}); err != nil {
			t.Fatalf("event %s: %v", lines.Bytes(), err)
		}
		if n := len(p.events); n > 0 && e.at < p.events[n-1].at || e.at < 0 {
			t.Errorf("event %d at %f", n, e.at)
		}
		p.events = append(p.events, e)
		var cols, rows int
		switch e.kind {
		case "o":
			p.screen.Write([]byte(e.text))
		case "r":
			if _, err := fmt.Sscanf(e.text, "%dx%d", &cols, &rows); err != nil {
				t.Fatalf("size %q: %v", e.text, err)
			}
			p.screen.Resize(cols, rows)
		case "m":
		default:
			t.Errorf("event of kind %q", e.kind)
		}
	}
	return p
}

func (p *played) of(kind string) (texts []string) {
	for _, e := range p.events {
		if e.kind == kind {
			texts = append(texts, e.text)
		}
	}
	return texts
}

func (s *session) cast(o Options) *played {
	s.t.Helper()
	r, err := Open(s.dir, o).Cast(Header{Title: "a <title>", Command: "sh", Env: map[string]string{"TERM": "xterm"}})
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil {
		s.t.Fatal(err)
	}
	return play(s.t, b)
}

// What is played ends on the screen of a viewer who saw all, with sizes in
// their places, also where the session's beginning is no longer kept.
func TestCastPlays(t *testing.T) {
	for _, keep := range []int64{0, 4000} {
		rng := rand.New(rand.NewPCG(uint64(keep), 4))
		s := newSession(t, journal.Options{SegmentBytes: 1000, KeepBytes: keep})
		for range 120 {
			if p := piece(rng); utf8.Valid(p) {
				s.print(p)
			}
			if rng.IntN(5) == 0 {
				s.resize(uint16(20+rng.IntN(100)), uint16(5+rng.IntN(40)))
			}
		}
		p := s.cast(Options{})
		if got, want := drawn(p.screen), drawn(s.at(s.w.Head())); got != want {
			t.Errorf("keep %d: played\n%q\nwant\n%q", keep, got, want)
		}
		h := p.header
		if h.Version != 2 || h.Title != "a <title>" || h.Command != "sh" || h.Env["TERM"] != "xterm" {
			t.Errorf("header %+v", h)
		}
		if d := time.Since(time.Unix(h.Timestamp, 0)); d < 0 || d > time.Hour {
			t.Errorf("timestamp %d", h.Timestamp)
		}
		markers := p.of("m")
		if keep == 0 && (len(markers) > 0 || h.Width != 80 || h.Height != 24) {
			t.Errorf("whole: %dx%d, markers %q", h.Width, h.Height, markers)
		}
		if want := fmt.Sprintf("offset %d", s.w.Oldest()); keep > 0 && (len(markers) != 1 || !strings.Contains(markers[0], want)) {
			t.Errorf("trimmed: markers %q, want %s", markers, want)
		}
	}
}

// Times are those of the output.
func TestCastTimes(t *testing.T) {
	s := newSession(t, journal.Options{})
	began := time.Now()
	s.print([]byte("one"))
	s.later(50 * time.Millisecond)
	s.print([]byte("two"))
	passed := time.Since(began).Seconds()
	p := s.cast(Options{})
	at := map[string]float64{}
	for _, e := range p.events {
		at[e.text] = e.at
	}
	if at["one"] != 0 || at["two"] < 0.05 || at["two"] > passed+0.02 || at["80x25"] > at["two"] {
		t.Errorf("%+v", p.events)
	}
}

// A character that is cut between two pieces of output is put together; bytes
// that are none are U+FFFD; nothing is lost at the end.
func TestCastIsUTF8(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		want   string
	}{
		{"cut", []string{"a\xe6", "\x97", "\xa5b"}, "a日b"},
		{"four bytes", []string{"\xf0\x9f", "\x98\x80"}, "😀"},
		{"invalid", []string{"a\xffb\xc0\xafc"}, "a\ufffdb\ufffd\ufffdc"},
		{"cut and then another", []string{"\xe6\x97", "x"}, "\ufffd\ufffdx"},
		{"at the end", []string{"x\xe6\x97"}, "x\ufffd\ufffd"},
		{"only continuations", []string{"\x80\x80\x80\x80"}, "\ufffd\ufffd\ufffd\ufffd"},
		{"controls and quotes", []string{"\x00\x1b[m\"\\<&>\u2028\x7f"}, "\x00\x1b[m\"\\<&>\u2028\x7f"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newSession(t, journal.Options{})
			for i, p := range tt.pieces {
				s.print([]byte(p))
				if i < len(tt.pieces)-1 {
					s.later(11 * time.Millisecond) // an event of its own
				}
			}
			if got := strings.Join(s.cast(Options{}).of("o"), ""); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCastShowsAGap(t *testing.T) {
	s, from, to := gap(t)
	want := fmt.Sprintf("%d to %d", from, to)
	p := s.cast(Options{})
	if m := p.of("m"); len(m) != 1 || !strings.Contains(m[0], want) {
		t.Errorf("markers %q, want %s", m, want)
	}
	if got := p.screen.Text(vt.TextOptions{}); !strings.HasSuffix(got, "before\nlost\nafter\n") { // the keyframe knows
		t.Errorf("played\n%s", got)
	}
	os.Remove(filepath.Join(s.dir, fmt.Sprintf("%020d.key", to)))
	p = s.cast(Options{Head: s.w.Head() + 7})
	if m := p.of("m"); len(m) != 2 || !strings.Contains(m[0], want) || !strings.Contains(m[1], fmt.Sprintf("%d to %d", s.w.Head(), s.w.Head()+7)) {
		t.Errorf("markers %q", m)
	}
	if got := p.screen.Text(vt.TextOptions{}); !strings.HasSuffix(got, "before\nafter\n") {
		t.Errorf("played\n%s", got)
	}
}

// Without an index there are no times and sizes, but all of the output.
func TestCastWithoutAnIndex(t *testing.T) {
	s := newSession(t, journal.Options{SegmentBytes: 10})
	s.print([]byte("0123456789abcdefghij"))
	indexes, _ := filepath.Glob(filepath.Join(s.dir, "*.idx"))
	for _, index := range indexes {
		os.Remove(index)
	}
	started := time.Now().Add(-time.Hour)
	p := s.cast(Options{Size: terminal.Size{Cols: 50, Rows: 9}, Started: started})
	if got := strings.Join(p.of("o"), ""); got != "0123456789abcdefghij" || p.header.Width != 50 || p.header.Timestamp != started.Unix() {
		t.Errorf("%q, header %+v", got, p.header)
	}
}

func TestCastOfNothing(t *testing.T) {
	s := &session{t: t, dir: t.TempDir()}
	if p := s.cast(Options{}); p.header.Width != 80 || len(p.events) != 0 {
		t.Errorf("%+v", p)
	}
}

// A segment that is trimmed while the cast is read is a gap in it.
func TestCastWhileTrimmed(t *testing.T) {
	s := newSession(t, journal.Options{SegmentBytes: 1000, KeepBytes: 4000})
	for i := range 900 {
		s.print(fmt.Appendf(nil, "line %d\r\n", i))
	}
	head := s.w.Head()
	r, err := Open(s.dir, Options{}).Cast(Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	begin := make([]byte, 500)
	if _, err := io.ReadFull(r, begin); err != nil {
		t.Fatal(err)
	}
	for s.w.Oldest() < head {
		s.print(bytes.Repeat([]byte("x"), 100))
	}
	rest, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	if m := play(t, append(begin, rest...)).of("m"); len(m) != 2 || !strings.HasSuffix(m[1], fmt.Sprintf("to %d is missing", head)) {
		t.Errorf("markers %q", m)
	}
}

// A journal that cannot be read is an error, not an end.
func TestCastUnreadable(t *testing.T) {
	s := newSession(t, journal.Options{SegmentBytes: 10})
	s.print([]byte("0123456789abcdefghij"))
	r, err := Open(s.dir, Options{}).Cast(Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if err := os.Truncate(filepath.Join(s.dir, fmt.Sprintf("%020d.log", 10)), 5); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err == nil || !strings.Contains(err.Error(), "offset 15") {
		t.Errorf("%v after %s", err, b)
	}
	file := filepath.Join(t.TempDir(), "file")
	os.WriteFile(file, nil, 0o600)
	if _, err := Open(file, Options{}).Cast(Header{}); err == nil {
		t.Error("a cast of a file that is no journal")
	}
}

// A cast takes no memory in proportion to the session.
func TestCastMemory(t *testing.T) {
	s := newSession(t, journal.Options{SegmentBytes: 1 << 20})
	if err := s.w.Append(bytes.Repeat([]byte("x"), 8<<20)); err != nil {
		t.Fatal(err)
	}
	r := Open(s.dir, Options{})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	cast, err := r.Cast(Header{})
	if err != nil {
		t.Fatal(err)
	}
	defer cast.Close()
	if _, err := io.Copy(io.Discard, cast); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	// Each event's text is a string for a moment.
	if n := after.TotalAlloc - before.TotalAlloc; n > 24<<20 {
		t.Errorf("%d bytes allocated for 8 MiB", n)
	}
}
