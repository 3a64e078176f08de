package vt

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestFootprint: 80x24 with a full screen and an empty scrollback.
func TestFootprint(t *testing.T) {
	const n, limit = 50, 150 << 10
	screen := strings.Repeat(strings.Repeat("x", 80)+"\x1b[31m", 24)
	terminals := make([]*Terminal, n)
	before := heap()
	for i := range terminals {
		terminals[i] = New(Options{})
		fmt.Fprintf(terminals[i], "\x1b[H%s\x1b[?1049h\x1b[H%s", screen, screen)
	}
	each := (heap() - before) / n
	if each > limit {
		t.Errorf("a terminal takes %d bytes, want at most %d", each, limit)
	}
	t.Logf("%d bytes", each)
	runtime.KeepAlive(terminals)
}

// hostile are endless inputs that each aim at one table or buffer.
var hostile = []struct {
	name string
	next func(i int) string
}{
	{"OSC", func(i int) string { return once(i, "\x1b]0;") + strings.Repeat("t", 1000) }},
	{"OSC 52", func(i int) string { return once(i, "\x1b]52;c;") + strings.Repeat("QUFB", 250) }},
	{"DCS", func(i int) string { return once(i, "\x1bP$q") + strings.Repeat("m", 1000) }},
	{"APC", func(i int) string { return once(i, "\x1b_G") + strings.Repeat("AAAA", 250) }},
	{"CSI", func(i int) string { return once(i, "\x1b[") + strings.Repeat("1;2:3;", 170) }},
	{"combining marks", func(i int) string { return once(i, "e") + strings.Repeat("\u0301", 500) }},
	{"clusters", func(i int) string {
		return fmt.Sprintf("%c%c%c", 'a'+i%26, 0x300+i%111, 0x300+i/111%111)
	}},
	{"hyperlinks", func(i int) string {
		return fmt.Sprintf("\x1b]8;id=%d;http://example.com/%s%d\x1b\\x", i, strings.Repeat("long", 50), i)
	}},
	{"underline colours", func(i int) string { return fmt.Sprintf("\x1b[58:2::%d:%d:%dmx", i>>16&255, i>>8&255, i&255) }},
	{"titles", func(i int) string { return fmt.Sprintf("\x1b]0;%s%d\x07\x1b[22t", strings.Repeat("title", 200), i) }},
	{"directories", func(i int) string { return fmt.Sprintf("\x1b]7;file:///%s%d\x07", strings.Repeat("dir/", 200), i) }},
	{"kitty pushes", func(i int) string { return "\x1b[>31u\x1b[>1u\x1b[?1049h\x1b[>7u\x1b[?1049l" }},
	{"palette", func(i int) string { return fmt.Sprintf("\x1b]4;%d;#%06x\x07", i%256, i&0xffffff) }},
	{"tabs", func(i int) string { return fmt.Sprintf("\x1b[%dG\x1bH\t\t\x1b[Z", i%3000) }},
	{"repeats", func(i int) string { return "x\x1b[999999999b" }},
	{"wide repeats", func(i int) string { return "一\x1b[999999999b" }},
	{"huge numbers", func(i int) string {
		return "\x1b[999999999L\x1b[999999999@\x1b[999999999S\x1b[999999999T\x1b[999999999I"
	}},
	{"gradients", func(i int) string {
		return fmt.Sprintf("\x1b[38;2;%d;%d;%d;48;2;1;2;%dm▀", i&255, i>>8&255, i>>16&255, i&255)
	}},
	{"blank lines", func(i int) string { return "\n\n\n\n\n\n\n\n" }},
	{"resets", func(i int) string { return "\x1bcx\x1b[?1049hy" }},
	{"invalid", func(i int) string { return "\xff\xe4\xb8\xf0\x9f\x1b[\xf0\x1b]\xe4\x1bP\x80" }},
}

func once(i int, s string) string {
	if i == 0 {
		return s
	}
	return ""
}

// TestMemoryBound feeds hostile input and looks at the heap all the way.
func TestMemoryBound(t *testing.T) {
	const limit = 16 << 20
	total, piece := 120<<20, 256<<10
	switch {
	case testing.Short():
		total, piece = 1<<20, 16<<10
	case raceEnabled:
		total, piece = 12<<20, 64<<10
	}
	base := heap()
	a := New(Options{Event: func(Event) {}, Answer: func([]byte) {}})
	var most uint64
	look := func(name string) {
		used := heap() - min(base, heap())
		most = max(most, used)
		if used > limit {
			t.Errorf("%s: %d bytes in use, want at most %d", name, used, limit)
		}
	}
	var chunk bytes.Buffer
	for n, h := range hostile {
		a.Write([]byte("\x1b\\"))
		share := total / len(hostile)
		if strings.Contains(h.name, "repeats") || h.name == "clusters" {
			share /= 10 // few bytes ask for much work
		}
		for i, fed := 0, 0; fed < share; fed += chunk.Len() {
			for chunk.Reset(); chunk.Len() < piece; i++ {
				chunk.WriteString(h.next(i))
			}
			a.Write(chunk.Bytes())
		}
		look(h.name)
		if testing.Short() && n%10 != 0 {
			continue
		}
		for _, size := range [][2]int{{1, 1}, {10000, 10000}, {10000, 1}, {1, 10000}, {400, 300}, {80, 24}} {
			a.Resize(size[0], size[1])
			a.Write([]byte("\x1b#8\x1b[?1047h\x1b#8\x1b[?1047l"))
			look(h.name + " resized")
		}
	}
	t.Logf("at most %d KiB in use", most>>10)
}
