package owner

import (
	"slices"
	"strings"
	"testing"
)

func TestUnwritten(t *testing.T) {
	const rest = "Size: 4 kB\nPrivate_Dirty: 0 kB\nAnonymous:             %KIB% kB\nAnonHugePages: 8 kB\nVmFlags: rd mr\n"
	for _, c := range []struct {
		name, head, kib string
		want            bool
	}{
		{"text", "00400000-00401000 r-xp 00000000 fe:00 1234  /usr/bin/middleman", "0", true},
		{"constants", "00400000-00401000 r--p 0079b000 fe:00 1234  /usr/bin/middleman (deleted)", "0", true},
		{"relocated by the dynamic linker", "00400000-00401000 r--p 0079b000 fe:00 1234  /usr/bin/middleman", "4", false},
		{"data", "00400000-00401000 rw-p 00f1c000 fe:00 1234  /usr/bin/middleman", "0", false},
		{"heap", "00400000-00401000 rw-p 00000000 00:00 0", "0", false},
		{"shared", "00400000-00401000 r--s 00000000 fe:00 99  /tmp/x", "0", false},
		{"vdso", "00400000-00401000 r-xp 00000000 00:00 0  [vdso]", "0", false},
		{"turned around", "00401000-00400000 r-xp 00000000 fe:00 1234  /usr/bin/middleman", "0", false},
		{"nothing", "", "0", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := "00200000-00300000 r--p 00000000 fe:00 7  /lib/libc.so\n" + strings.ReplaceAll(rest, "%KIB%", "12")
			got, own := unwritten(strings.NewReader(before + c.head + "\n" + strings.ReplaceAll(rest, "%KIB%", c.kib)))
			if want := map[string]uint64{"0": 12 << 10, "4": 16 << 10}[c.kib]; own != want {
				t.Errorf("%d bytes are its own, want %d", own, want)
			}
			var want []mapping
			if c.want {
				want = []mapping{{0x400000, 0x1000}}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%#x, want %#x", got, want)
			}
		})
	}
}
