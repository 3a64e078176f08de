package private

import (
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// What others can write is refused, with who can; what they can read is not. An
// entry that holds only for what is made below does not count. The descriptors are
// texts: Wine keeps of those of files only what a mode of Unix can say.
func TestJudgeDescriptor(t *testing.T) {
	own, err := OwnSID()
	if err != nil {
		t.Fatal(err)
	}
	const writable, foreign = "is writable by ", "belongs to "
	for _, x := range []struct{ name, sddl, want string }{
		{"nobody else", "O:$D:P(A;OICI;GA;;;$)", ""},
		{"everyone may read", "O:$D:P(A;;GA;;;$)(A;;GR;;;WD)", ""},
		{"the system may do everything", "O:$D:P(A;;GA;;;$)(A;;GA;;;SY)(A;;GA;;;BA)", ""},
		{"everyone is denied", "O:$D:P(D;;GA;;;WD)(A;;GA;;;$)", ""},
		{"its creator may do everything", "O:$D:P(A;;GA;;;CO)", ""},
		{"below it everyone may do everything", "O:$D:P(A;OICIIO;GA;;;WD)", ""},
		{"everyone may do everything", "O:$D:P(A;;GA;;;WD)", writable},
		{"everyone may write", "O:$D:P(A;;GW;;;WD)", writable},
		{"everyone may make files", "O:$D:P(A;;0x2;;;WD)", writable},
		{"everyone may make directories", "O:$D:P(A;;0x4;;;WD)", writable},
		{"everyone may delete what is in it", "O:$D:P(A;;0x40;;;WD)", writable},
		{"everyone may delete it", "O:$D:P(A;;SD;;;WD)", writable},
		{"everyone may change who may", "O:$D:P(A;;WD;;;WD)", writable},
		{"everyone may own it", "O:$D:P(A;;WO;;;WD)", writable},
		{"users may write", "O:$D:P(A;;GA;;;$)(A;OICI;0x1301bf;;;BU)", writable},
		{"no list at all", "O:$", writable},
		{"another owner", "O:S-1-5-21-1-2-3-1001D:P(A;;GA;;;$)", foreign},
		{"everyone owns it", "O:WDD:P(A;;GA;;;$)", foreign},
		{"no owner", "D:P(A;;GA;;;$)", "has no owner"},
	} {
		t.Run(x.name, func(t *testing.T) {
			sd, err := windows.SecurityDescriptorFromString(strings.ReplaceAll(x.sddl, "$", own.String()))
			if err != nil {
				t.Fatal(err)
			}
			p := judgeDescriptor(`C:\x`, sd, write, true)
			if (p == nil) != (x.want == "") || p != nil && !strings.HasPrefix(p.What, x.want) {
				t.Errorf("%v, want %q", p, x.want)
			}
		})
	}
}

// A directory above ours may be the system's, and others may make directories in
// it, as in C:\, but not exchange ours.
func TestJudgeAbove(t *testing.T) {
	for _, x := range []struct {
		sddl string
		ok   bool
	}{
		{"O:SYD:(A;OICI;FA;;;SY)(A;;0x4;;;AU)(A;OICIIO;0x1301bf;;;AU)(A;OICI;0x1200a9;;;BU)", true},
		{"O:BAD:(A;OICI;FA;;;SY)", true},
		{"O:SYD:(A;;0x40;;;BU)", false},
		{"O:SYD:(A;;SD;;;AU)", false},
		{"O:S-1-5-21-1-2-3-1001D:(A;OICI;FA;;;SY)", false},
	} {
		sd, err := windows.SecurityDescriptorFromString(x.sddl)
		if err != nil {
			t.Fatal(err)
		}
		if p := judgeDescriptor(`C:\`, sd, takeOver, false); (p == nil) != x.ok {
			t.Errorf("%s: %v", x.sddl, p)
		}
	}
}
