package viewer

import (
	"bytes"
	"testing"

	"middleman/terminal"
)

func BenchmarkClipboardFilter(b *testing.B) {
	for _, bc := range []struct{ name, line string }{
		{"plain", "the quick brown fox jumps over the lazy dog, and so on and on until the line ends\r\n"},
		{"coloured", "\x1b[32m2024-05-01\x1b[0m \x1b[1;34mINFO\x1b[0m something happened at \x1b[38;5;208mplace\x1b[m ok\r\n"},
		{"unicode", "日本語のテキスト naïve “quoted” — text 👩‍💻 ░▒▓\r\n"},
	} {
		p := bytes.Repeat([]byte(bc.line), 64<<10/len(bc.line))
		b.Run(bc.name, func(b *testing.B) {
			f := newClipboardFilter(terminal.ClipboardDeny)
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				f.filter(p)
			}
		})
	}
}
