package bench

import (
	"io"
	"testing"

	activevt "github.com/ActiveState/vt10x"
	charmvt "github.com/charmbracelet/x/vt"
	hinshunvt "github.com/hinshun/vt10x"
	tonistiigivt "github.com/tonistiigi/vt100"

	"middleman/terminal/vt"
	"middleman/terminal/vt/internal/input"
)

const cols, rows = 80, 24

var screens = []struct {
	name string
	new  func(*testing.B) io.Writer
}{
	{"middleman", func(*testing.B) io.Writer { return vt.New(vt.Options{Cols: cols, Rows: rows}) }},
	{"charm", func(*testing.B) io.Writer { return charmvt.NewEmulator(cols, rows) }},
	{"hinshun", func(*testing.B) io.Writer { return hinshunvt.New(hinshunvt.WithSize(cols, rows)) }},
	{"activestate", func(b *testing.B) io.Writer {
		t, err := activevt.New(new(activevt.State), nil, io.Discard)
		if err != nil {
			b.Fatal(err)
		}
		t.Resize(cols, rows)
		return t
	}},
	{"tonistiigi", func(*testing.B) io.Writer { return tonistiigivt.NewVT100(rows, cols) }},
}

func BenchmarkWrite(b *testing.B) {
	for _, kind := range input.Kinds {
		data := kind.Make(1 << 20)
		for _, s := range screens {
			b.Run(kind.Name+"/"+s.name, func(b *testing.B) {
				w := s.new(b)
				b.SetBytes(int64(len(data)))
				b.ReportAllocs()
				for b.Loop() {
					for p := data; len(p) > 0; {
						n := min(len(p), 32<<10)
						if _, err := w.Write(p[:n]); err != nil {
							b.Fatal(err)
						}
						p = p[n:]
					}
				}
			})
		}
	}
}
