package vt

import (
	"fmt"
	"testing"

	"middleman/terminal/vt/internal/input"
)

func BenchmarkWrite(b *testing.B) {
	for _, in := range input.Kinds {
		b.Run(in.Name, func(b *testing.B) {
			data := in.Make(4 << 20)
			t := New(Options{Cols: 80, Rows: 24})
			t.Write(data) // fill the scrollback
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				for p := data; len(p) > 0; {
					n := min(len(p), 32<<10)
					t.Write(p[:n])
					p = p[n:]
				}
			}
		})
	}
}

func BenchmarkSnapshot(b *testing.B) {
	for _, lines := range []int{0, -1} {
		b.Run(fmt.Sprintf("scrollback=%d", lines), func(b *testing.B) {
			t := New(Options{Cols: 80, Rows: 24})
			t.Write(input.Coloured(4 << 20))
			var out []byte
			b.ReportAllocs()
			for b.Loop() {
				out = t.AppendSnapshot(out[:0], SnapshotOptions{Scrollback: lines})
			}
			b.SetBytes(int64(len(out)))
		})
	}
}

func BenchmarkResize(b *testing.B) {
	t := New(Options{Cols: 80, Rows: 24})
	t.Write(input.Coloured(4 << 20))
	for b.Loop() {
		t.Resize(100, 30)
		t.Resize(80, 24)
	}
}
