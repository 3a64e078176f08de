package vt

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// memorySpill is a Spill that can do what disks do.
type memorySpill struct {
	data           []byte
	full, broken   bool
	writes, misses int
}

func (m *memorySpill) WriteAt(p []byte, at int64) (int, error) {
	if m.full {
		return 0, errors.New("no space left")
	}
	m.writes++
	if grow := int(at) + len(p) - len(m.data); grow > 0 {
		m.data = append(m.data, make([]byte, grow)...)
	}
	return copy(m.data[at:], p), nil
}

func (m *memorySpill) ReadAt(p []byte, at int64) (int, error) {
	if m.broken {
		m.misses++
		return 0, errors.New("input/output error")
	}
	return bytes.NewReader(m.data).ReadAt(p, at)
}

// someOutput is what a program may print, by a seeded random.
func someOutput(random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(200) {
		switch random.IntN(12) {
		case 0:
			fmt.Fprintf(&b, "\x1b[38;5;%dm", random.IntN(256))
		case 1:
			b.WriteString("\x1b[m")
		case 2:
			b.WriteString(strings.Repeat("一二", random.IntN(60)))
		case 3:
			fmt.Fprintf(&b, "e\u0301%c\u0301", 'a'+rune(random.IntN(26)))
		case 4:
			fmt.Fprintf(&b, "\x1b]8;;http://example.com/%d\x1b\\link\x1b]8;;\x1b\\", random.IntN(50))
		case 5:
			b.WriteString(strings.Repeat("\r\n", random.IntN(100)))
		default:
			b.WriteString(strings.Repeat(fmt.Sprint("word ", random.IntN(1000), " "), random.IntN(30)))
		}
		b.WriteString("\r\n")
	}
	switch random.IntN(40) {
	case 0:
		b.WriteString("\x1b[3J")
	case 1:
		b.WriteString("\x1bc")
	case 2:
		b.WriteString("\x1b[?1049hfull\x1b[?1049l")
	}
	return b.String()
}

// What is in a spill is no different from what is in memory, whatever the
// program does, and also when the disk is full at times.
func TestSpillIsLikeMemory(t *testing.T) {
	steps := 400
	if testing.Short() || raceEnabled {
		steps = 60
	}
	for seed := range uint64(6) {
		budget := []int{1 << 10, 20 << 10, 300 << 10, 2 << 20}[seed%4]
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 13))
			disk := &memorySpill{}
			with := New(Options{Cols: 80, Rows: 24, ScrollbackBytes: budget, Spill: disk})
			without := New(Options{Cols: 80, Rows: 24, ScrollbackBytes: budget})
			for step := range steps {
				disk.full = random.IntN(10) == 0
				if random.IntN(8) == 0 {
					cols, rows := 2+random.IntN(200), 1+random.IntN(60)
					with.Resize(cols, rows)
					without.Resize(cols, rows)
				} else {
					out := []byte(someOutput(random))
					with.Write(out)
					without.Write(out)
				}
				if step%5 == 0 {
					if d := diffDumps(with.dump(), without.dump()); d != "" {
						t.Fatalf("step %d: %s", step, d)
					}
				}
			}
			again := New(Options{Cols: with.cols, Rows: with.rows, ScrollbackBytes: budget, Spill: &memorySpill{}})
			again.Write(with.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1}))
			if d := diffDumps(again.dump(), without.dump()); d != "" {
				t.Errorf("after a snapshot: %s", d)
			}
			if budget >= 20<<10 && disk.writes == 0 {
				t.Error("nothing was written")
			}
			if limit := 2*(budget/maxChunk+8)*slotBytes + slotBytes; len(disk.data) > limit {
				t.Errorf("the spill has %d bytes, want at most %d", len(disk.data), limit)
			}
		})
	}
}

// With a spill a full scrollback takes little memory.
func TestSpillFootprint(t *testing.T) {
	disk := &fixedSpill{data: make([]byte, 64*slotBytes)}
	before := heap()
	a := New(Options{Spill: disk})
	line := []byte("\x1b[32m2026-11-22 12:00:00\x1b[m \x1b[1mINFO\x1b[m something has happened in the program\r\n")
	for range 40000 {
		a.Write(line)
	}
	if used := a.scrollback.used; used < 2<<20-200 {
		t.Fatalf("%d bytes of scrollback, want it full", used)
	}
	if took := heap() - before; took > 300<<10 {
		t.Errorf("%d bytes of memory, want at most 300 KiB", took)
	}
	if n := testing.AllocsPerRun(3, func() {
		for range 4000 {
			a.Write(line)
		}
	}); n > 20 {
		t.Errorf("%v allocations for 4000 lines", n)
	}
}

type fixedSpill struct{ data []byte }

func (f *fixedSpill) WriteAt(p []byte, at int64) (int, error) { return copy(f.data[at:], p), nil }
func (f *fixedSpill) ReadAt(p []byte, at int64) (int, error) {
	if n := copy(p, f.data[at:]); n == len(p) {
		return n, nil
	}
	return 0, io.EOF
}

// numbered is output of n numbered lines.
func numbered(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	return b.Bytes()
}

// Where the spill does not give back what was written, the lines that are left
// are the newest, without a gap.
func TestSpillIsLost(t *testing.T) {
	for _, c := range []struct {
		name string
		lose func(m *memorySpill)
	}{
		{"unreadable", func(m *memorySpill) { m.broken = true }},
		{"cut off", func(m *memorySpill) { m.data = m.data[:slotBytes+1] }},
		{"changed", func(m *memorySpill) { m.data[slotBytes+100]++ }},
		{"ends changed", func(m *memorySpill) { m.data[slotBytes+endsAt+5]++ }},
		{"zero", func(m *memorySpill) { clear(m.data) }},
	} {
		for _, use := range []struct {
			name string
			do   func(t *Terminal)
		}{
			{"text", func(*Terminal) {}},
			{"narrower", func(t *Terminal) { t.Resize(4, 10) }},
			{"higher", func(t *Terminal) { t.Resize(20, 900) }},
			{"more output", func(t *Terminal) { t.Write(bytes.Repeat([]byte("more\r\n"), 20000)) }},
		} {
			t.Run(c.name+"/"+use.name, func(t *testing.T) {
				disk := &memorySpill{}
				a := New(Options{Cols: 20, Rows: 10, ScrollbackBytes: 300 << 10, Spill: disk})
				a.Write(numbered(10000))
				if a.scrollback.lines != 9991 || disk.writes < 4 {
					t.Fatalf("%d lines, %d writes", a.scrollback.lines, disk.writes)
				}
				c.lose(disk)
				use.do(a)
				text := a.Text(TextOptions{Scrollback: true, JoinWraps: true})
				want := numbered(10000)
				want = bytes.ReplaceAll(want, []byte("\r"), nil)
				got := strings.TrimSuffix(text, strings.Repeat("more\n", strings.Count(text, "more\n")))
				got = strings.TrimLeft(got, "\n")
				if got != "" && !strings.HasSuffix(string(want), got) {
					i := 0
					for i < len(got) && i < len(want) && got[len(got)-1-i] == want[len(want)-1-i] {
						i++
					}
					t.Errorf("not the newest lines: they differ %d bytes before the end: %.100q", i, got[:len(got)-i])
				}
				if use.name == "text" && a.scrollback.lines >= 9991 {
					t.Errorf("%d lines are left, want fewer", a.scrollback.lines)
				}
			})
		}
	}
}
