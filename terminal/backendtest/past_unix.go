//go:build unix

package backendtest

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/terminal"
	"middleman/terminal/vt"
)

// paintProgram paints in rounds, each when a line was typed: args are how many
// rounds, how many bytes each, and a seed.
func paintProgram(r io.Reader, w io.Writer, args []string) error {
	var n [3]int
	for i := range n {
		var err error
		if n[i], err = strconv.Atoi(args[i]); err != nil {
			return err
		}
	}
	lines := bufio.NewReader(r)
	rng := rand.New(rand.NewPCG(uint64(n[2]), 5))
	out := bufio.NewWriter(w)
	for round := range n[0] {
		if _, err := lines.ReadString('\n'); err != nil {
			return err
		}
		for size := 0; size < n[1]; {
			m, _ := out.Write(paint(rng)) // Flush tells
			size += m
		}
		fmt.Fprintf(out, "\x1b[mround %d done.\n", round)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// paint is something that a full-screen program may print.
func paint(rng *rand.Rand) []byte {
	switch rng.IntN(12) {
	case 0:
		return []byte("\x1b[?1049" + string("hl"[rng.IntN(2)]))
	case 1:
		return fmt.Appendf(nil, "\x1b[%d;%dH", 1+rng.IntN(40), 1+rng.IntN(100))
	case 2:
		return fmt.Appendf(nil, "\x1b[%d;38;5;%dm", rng.IntN(10), rng.IntN(256))
	case 3:
		return []byte("wide 日本語 e\u0301 ")
	case 4:
		return fmt.Appendf(nil, "\x1b[%dr\x1b[%d%c", rng.IntN(20), 1+rng.IntN(3), "ABCDLMPSTX"[rng.IntN(10)])
	case 5:
		return fmt.Appendf(nil, "\x1b]2;title %d\x07", rng.IntN(9))
	}
	return stream(20+rng.IntN(300), rng.Uint64())
}

const (
	pastRounds = 14
	pastBytes  = 200 << 10
	pastKept   = 1 << 20
)

// past is a session that painted while it was resized, and all that a viewer
// saw of it.
type past struct {
	*fixture
	s     terminal.Session
	v     *viewer
	first terminal.Size
	calm  time.Time // when there was output up to calmAt, and no more for a while
	at    uint64
}

func (f *fixture) paints() *past {
	f.Helper()
	spec := f.spec(program(f, "paint", strconv.Itoa(pastRounds), strconv.Itoa(pastBytes), "1")...)
	spec.JournalBytes = pastKept
	p := &past{fixture: f, s: f.start(spec), first: spec.Size}
	zero := uint64(0)
	p.v = f.attach(p.s, terminal.AttachOptions{Mode: terminal.ModeWatch, From: &zero})
	writer := f.attach(p.s, terminal.AttachOptions{Mode: terminal.ModeAttach, Size: spec.Size})
	rng := rand.New(rand.NewPCG(2, 5))
	for round := range pastRounds {
		writer.types("\r")
		for range rng.IntN(4) {
			writer.resize(terminal.Size{Cols: uint16(10 + rng.IntN(140)), Rows: uint16(3 + rng.IntN(50))})
		}
		done := fmt.Appendf(nil, "round %d done.\r\n", round)
		p.v.until("paints", func() bool { return bytes.HasSuffix(p.v.bytes, done) })
		if round == pastRounds-2 {
			p.pause()
		}
	}
	f.ended(p.s)
	p.v.ends(terminal.MessageExit)
	return p
}

// pause notes the time and the offset while nothing happens: an index tells
// times to 10 ms.
func (p *past) pause() {
	<-time.After(20 * time.Millisecond)
	p.calm = time.Now()
	p.v.mu.Lock()
	p.at = p.v.next
	p.v.mu.Unlock()
	<-time.After(20 * time.Millisecond)
}

// testPast: the screen of any kept offset is that of a viewer who saw all.
func testPast(f *fixture) {
	p := f.paints()
	st, err := p.s.Status(f.ctx)
	f.ok(err)
	if st.Oldest == 0 || st.Head != uint64(len(p.v.bytes)) {
		f.Fatalf("kept from %d to %d, want some trimmed of %d", st.Oldest, st.Head, len(p.v.bytes))
	}
	for _, at := range []uint64{p.at, st.Head} {
		got, err := p.s.OffsetAt(f.ctx, map[uint64]time.Time{p.at: p.calm, st.Head: time.Now()}[at])
		if err != nil || got != at {
			f.Errorf("offset by time is %d (%v), want %d", got, err, at)
		}
	}
	p.plays(st)
	rng := rand.New(rand.NewPCG(3, 5))
	offsets := []uint64{st.Oldest, st.Head, p.at}
	for range 30 {
		offsets = append(offsets, st.Oldest+rng.Uint64N(st.Head-st.Oldest))
	}
	p.captures(offsets)
	p.beyond(st)
}

// beyond asks for what is not kept any more, and not there yet.
func (p *past) beyond(st terminal.Status) {
	p.Helper()
	before, beyond := st.Oldest-1, st.Head+1
	_, err := p.s.Capture(p.ctx, terminal.CaptureOptions{At: &before})
	if e, ok := errors.AsType[*terminal.TrimmedError](err); !ok || e.Oldest != st.Oldest {
		p.Errorf("capture of what is trimmed: %v", err)
	}
	_, err = p.s.Capture(p.ctx, terminal.CaptureOptions{At: &beyond})
	p.is("capture beyond the head", err, terminal.ErrRange)
}

// captures compares captures with the screen of the viewer.
func (p *past) captures(offsets []uint64) {
	p.Helper()
	slices.Sort(offsets)
	screen := vt.New(vt.Options{Cols: int(p.first.Cols), Rows: int(p.first.Rows)})
	fed, sizes := uint64(0), p.v.sizes
	for _, at := range offsets {
		for len(sizes) > 0 && sizes[0].Offset <= at {
			screen.Write(p.v.bytes[fed:sizes[0].Offset])
			fed = sizes[0].Offset
			screen.Resize(int(sizes[0].Size.Cols), int(sizes[0].Size.Rows))
			sizes = sizes[1:]
		}
		screen.Write(p.v.bytes[fed:at])
		fed = at
		c, err := p.s.Capture(p.ctx, terminal.CaptureOptions{Format: terminal.FormatJSON, At: &at})
		p.ok(err)
		want, err := json.Marshal(screen.Cells())
		p.ok(err)
		want = fmt.Appendf(nil, `{"offset":%d,"hash":%q,%s`, at, c.Hash, want[1:])
		cols, rows := screen.Size()
		if !bytes.Equal(c.Data, want) || c.Offset != at || c.Note != "" || c.Title != screen.Title() ||
			int(c.Size.Cols) != cols || int(c.Size.Rows) != rows {
			p.Fatalf("at %d, %dx%d %q (%s):\n%s\nwant %dx%d %q\n%s", at, c.Size.Cols, c.Size.Rows, c.Title, c.Note, c.Data,
				cols, rows, screen.Title(), want)
		}
	}
}

// plays plays the recording and compares how it ends.
func (p *past) plays(st terminal.Status) {
	p.Helper()
	r, err := p.s.Recording(p.ctx)
	p.ok(err)
	defer r.Close()
	lines := bufio.NewReader(r)
	var header struct{ Version, Width, Height int }
	line, err := lines.ReadBytes('\n')
	p.ok(err)
	p.ok(json.Unmarshal(line, &header))
	if header.Version != 2 {
		p.Errorf("header %s", line)
	}
	screen := vt.New(vt.Options{Cols: header.Width, Rows: header.Height})
	var text strings.Builder
	for {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			break
		}
		p.ok(err)
		var at float64
		var kind, data string
		p.ok(json.Unmarshal(line, &[]any{&at, &kind, &data}))
		var cols, rows int
		switch kind {
		case "o":
			screen.Write([]byte(data))
			text.WriteString(data)
		case "r":
			_, err := fmt.Sscanf(data, "%dx%d", &cols, &rows)
			p.ok(err)
			screen.Resize(cols, rows)
		}
	}
	if want := p.output(p.s, st.Oldest); !strings.HasSuffix(text.String(), strings.ToValidUTF8(string(want[len(want)/2:]), "\ufffd")) {
		p.Errorf("the recording of %d bytes is not of the output", text.Len())
	}
	c, err := p.s.Capture(p.ctx, terminal.CaptureOptions{Format: terminal.FormatText})
	p.ok(err)
	if got := screen.Text(vt.TextOptions{}); got != string(c.Data) {
		p.Errorf("the recording ends with\n%s\nwant\n%s", got, c.Data)
	}
}

// testPastLive: earlier screens of a session that runs.
func testPastLive(f *fixture) {
	s := f.sh(`echo one; read x; printf '\033[2J'; echo two; read x`)
	f.printed(s, "one\r\n")
	<-time.After(20 * time.Millisecond) // an index tells times to 10 ms
	// Output is on disk, where it is read here, before a status has its end.
	head := uint64(len(f.output(s, 0)))
	then := time.Now()
	f.ok(s.Input(f.ctx, []byte("\r")))
	f.printed(s, "two")
	at, err := s.OffsetAt(f.ctx, then)
	if err != nil || at != head {
		f.Errorf("offset %d by time (%v), want %d", at, err, head)
	}
	c, err := s.Capture(f.ctx, terminal.CaptureOptions{Format: terminal.FormatText, At: &at})
	if err != nil || !strings.Contains(string(c.Data), "one") || strings.Contains(string(c.Data), "two") {
		f.Errorf("at %d: %q, %v", at, c.Data, err)
	}
	r, err := s.Recording(f.ctx)
	f.ok(err)
	defer r.Close()
	b, err := io.ReadAll(r)
	if err != nil || !bytes.HasPrefix(b, []byte(`{"version":2,"width":80,"height":24,`)) || !bytes.Contains(b, []byte("two")) {
		f.Errorf("recording %s, %v", b, err)
	}
}
