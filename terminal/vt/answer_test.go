package vt

import "testing"

func TestAnswers(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"DA1", "\x1b[c\x1b[0c\x1b[1c", "\x1b[?1;2c\x1b[?1;2c"},
		{"DA2", "\x1b[>c", "\x1b[>0;276;0c"},
		{"DA3", "\x1b[=c", "\x1bP!|00000000\x1b\\"},
		{"status", "\x1b[5n", "\x1b[0n"},
		{"position", "\x1b[2;3H\x1b[6n", "\x1b[2;3R"},
		{"position at a pending wrap", "0123456789\x1b[6n", "\x1b[1;10R"},
		{"position in origin mode", "\x1b[2;3r\x1b[?6h\x1b[2;2H\x1b[6n", "\x1b[2;2R"},
		{"private position", "\x1b[2;3H\x1b[?6n", "\x1b[?2;3R"},
		{"modes", "\x1b[4$p\x1b[4h\x1b[4$p\x1b[99$p", "\x1b[4;2$y\x1b[4;1$y\x1b[99;0$y"},
		{"private modes", "\x1b[?7$p\x1b[?2026$p\x1b[?1002h\x1b[?1000$p\x1b[?1002$p\x1b[?2027$p\x1b[?99$p",
			"\x1b[?7;1$y\x1b[?2026;2$y\x1b[?1000;2$y\x1b[?1002;1$y\x1b[?2027;3$y\x1b[?99;0$y"},
		{"alternate screen", "\x1b[?1049h\x1b[?1049$p\x1b[?47l\x1b[?1047$p", "\x1b[?1049;1$y\x1b[?1047;2$y"},
		{"region", "\x1b[2;3r\x1bP$qr\x1b\\", "\x1bP1$r2;3r\x1b\\"},
		{"margins", "\x1b[?69h\x1b[2;5s\x1bP$qs\x1b\\", "\x1bP1$r2;5s\x1b\\"},
		{"cursor shape", "\x1b[4 q\x1bP$q q\x1b\\", "\x1bP1$r4 q\x1b\\"},
		{"protection", "\x1b[1\"q\x1bP$q\"q\x1b\\", "\x1bP1$r1\"q\x1b\\"},
		{"level", "\x1bP$q\"p\x1b\\", "\x1bP1$r61;1\"p\x1b\\"},
		{"setting not known", "\x1bP$qx\x1b\\", "\x1bP0$r\x1b\\"},
		{"version", "\x1b[>q", "\x1bP>|" + versionText + "\x1b\\"},
		{"terminfo", "\x1bP+q544e;436F;6162\x1b\\",
			"\x1bP1+r544E=787465726D2D323536636F6C6F72\x1b\\\x1bP1+r436F=323536\x1b\\\x1bP0+r6162\x1b\\"},
		{"terminfo not hexadecimal", "\x1bP+qxyz\x1b\\", "\x1bP0+rxyz\x1b\\"},
		{"colours", "\x1b]10;?;?\x1b\\\x1b]4;1;?;9;?\a",
			"\x1b]10;rgb:ffff/ffff/ffff\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\\x1b]4;1;rgb:cccc/0000/0000\x1b\\\x1b]4;9;rgb:efef/2929/2929\x1b\\"},
		{"colours that were set", "\x1b]11;#102030\a\x1b]11;?\a\x1b]111\a\x1b]11;?\a",
			"\x1b]11;rgb:1010/2020/3030\x1b\\\x1b]11;rgb:0000/0000/0000\x1b\\"},
		{"cube and greys", "\x1b]4;16;?;231;?;232;?;255;?\a",
			"\x1b]4;16;rgb:0000/0000/0000\x1b\\\x1b]4;231;rgb:ffff/ffff/ffff\x1b\\\x1b]4;232;rgb:0808/0808/0808\x1b\\\x1b]4;255;rgb:eeee/eeee/eeee\x1b\\"},
		{"keyboard", "\x1b[?u\x1b[>5u\x1b[?u\x1b[=2;2u\x1b[?u\x1b[=1;3u\x1b[?u\x1b[<u\x1b[?u",
			"\x1b[?0u\x1b[?5u\x1b[?7u\x1b[?6u\x1b[?0u"},
		{"keyboard of each screen", "\x1b[>1u\x1b[?1049h\x1b[?u\x1b[>3u\x1b[?u\x1b[?1049l\x1b[?u", "\x1b[?0u\x1b[?3u\x1b[?1u"},
		{"keyboard, too many pops", "\x1b[>1u\x1b[>3u\x1b[<9u\x1b[?u", "\x1b[?0u"},
		{"sizes", "\x1b[14t\x1b[16t\x1b[18t\x1b[19t", "\x1b[4;64;80t\x1b[6;16;8t\x1b[8;4;10t\x1b[9;4;10t"},
		{"titles are not told", "\x1b]2;x\a\x1b[21t\x1b[20t", "\x1b]l\x1b\\\x1b]L\x1b\\"},
		{"clipboard is not told", "\x1b]52;c;?\a", ""},
		{"devices", "\x1b[?15n\x1b[?25n\x1b[?26n\x1b[?53n\x1b[?996n",
			"\x1b[?13n\x1b[?21n\x1b[?27;1;0;0n\x1b[?50n\x1b[?997;1n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []byte
			a := New(Options{Cols: 10, Rows: 4, Answer: func(b []byte) { got = append(got, b...) }})
			a.Write([]byte(c.in))
			if string(got) != c.want {
				t.Errorf("%q: answer %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestAnswering(t *testing.T) {
	answers := 0
	a := New(Options{Answer: func([]byte) { answers++ }})
	for _, on := range []bool{true, false, true} {
		a.Answering(on)
		a.Write([]byte("\x1b[6n"))
	}
	if answers != 2 {
		t.Errorf("%d answers, want 2", answers)
	}
	New(Options{}).Write([]byte("\x1b[6n\x1b]10;?\a"))
}

func TestKeyStackIsBounded(t *testing.T) {
	a := New(Options{})
	for range 1000 {
		a.Write([]byte("\x1b[>1u"))
	}
	if n := len(a.scr.keys.pushed); n != maxKeyStack {
		t.Errorf("%d pushed, want %d", n, maxKeyStack)
	}
}
