package ptyowner

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestLastWords(t *testing.T) {
	const stamp = "2026-11-22T18:00:00Z "
	for _, c := range []struct{ name, log, want string }{
		{"nothing", "", ""},
		{"other lines", stamp + "upgrade: no\n", ""},
		{"panic", stamp + "x\npanic: index out of range [3]\n\ngoroutine 7 [running]:\nmain.f()\n" + stamp + "owner 42 ended: exit status 2; killed for memory: 0\n",
			"its owner panicked: index out of range [3] (owner.log)"},
		{"fatal error", "fatal error: out of memory\n", "its owner ended by a fatal error: out of memory (owner.log)"},
		{"killed", stamp + "owner 42 ended: signal: killed; killed for memory: 0\n", "its owner was killed by SIGKILL; it is not known by whom"},
		{"for memory", stamp + "owner 42 ended: signal: killed; killed for memory: 3\n",
			"its owner was killed by SIGKILL, probably for memory: the kernel killed 3 processes of its control group for that"},
		{"other signal", stamp + "owner 42 ended: signal: segmentation fault; killed for memory: 0\n", "its owner ended by signal: segmentation fault"},
		{"another owner", stamp + "owner 41 ended: signal: killed; killed for memory: 0\n", ""},
		{"contained", stamp + "a connection's send panicked and was closed: \"panic: x\"\n", ""},
		{"hostile", "panic: \x1b]0;title\x07\u202e\xff\n", `its owner panicked: \x1b]0;title\x07\u202e\xff (owner.log)`},
		{"cut", "panic: half", "its owner panicked: half (owner.log)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := lastWords([]byte(c.log), 42); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// Whatever is in a log, what is told of it is one short line of text.
func FuzzLastWords(f *testing.F) {
	f.Add("panic: x\x1b[31m\n")
	f.Add("fatal error: all goroutines are asleep\n")
	f.Add("2026-11-22T18:00:00Z owner 42 ended: signal: killed; killed for memory: 9999999999999999999999\n")
	f.Fuzz(func(t *testing.T, log string) {
		got := lastWords([]byte(log), 42)
		if len(got) > 12*lastWordsShown || !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%d bytes: %q", len(got), got)
		}
	})
}
