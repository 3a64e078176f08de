package sandbox

import "testing"

func TestChoose(t *testing.T) {
	const noBwrap = "bubblewrap is not installed: install the package bubblewrap"
	const noSpaces = "bubblewrap at /usr/bin/bwrap cannot make a sandbox for this user: setting up uid map: Permission denied"
	const old = "this kernel has ABI 2 of Landlock and 3 is needed: Linux 6.2 or newer has it"
	const none = "this kernel has no Landlock: Linux 6.2 or newer has what is needed"
	const other = "this system has no sandbox that middleman can use: use none"
	for _, c := range []struct {
		name              string
		in                Support
		workspace, strict string // a method, or an error
	}{
		{"both", Support{Bubblewrap: "/usr/bin/bwrap", ABI: 6}, "bubblewrap", "bubblewrap"},
		{"no Landlock", Support{Bubblewrap: "/usr/bin/bwrap", NoLandlock: none}, "bubblewrap", "bubblewrap"},
		{"no bubblewrap, ABI 6", Support{NoBubblewrap: noBwrap, ABI: 6}, "landlock", "sandbox strict needs bubblewrap: " + noBwrap},
		{"no user namespaces, ABI 3", Support{NoBubblewrap: noSpaces, ABI: 3}, "landlock", "sandbox strict needs bubblewrap: " + noSpaces},
		{"no bubblewrap, ABI 2", Support{NoBubblewrap: noBwrap, ABI: 2, NoLandlock: old},
			"sandbox workspace needs bubblewrap or Landlock: " + noBwrap + "; " + old, "sandbox strict needs bubblewrap: " + noBwrap},
		{"neither", Support{NoBubblewrap: noSpaces, NoLandlock: none},
			"sandbox workspace needs bubblewrap or Landlock: " + noSpaces + "; " + none, "sandbox strict needs bubblewrap: " + noSpaces},
		{"macOS", Support{Seatbelt: "/usr/bin/sandbox-exec"}, "seatbelt", "seatbelt"},
		{"Windows", Support{NoSeatbelt: other}, "sandbox workspace: " + other, "sandbox strict: " + other},
	} {
		for level, want := range map[Level]string{None: "", "": "", Workspace: c.workspace, Strict: c.strict, "hard": `sandbox "hard": use none, workspace or strict`} {
			m, err := Choose(level, c.in)
			got := string(m)
			if err != nil {
				got += err.Error()
			}
			if got != want {
				t.Errorf("%s, %q: %q, want %q", c.name, level, got, want)
			}
		}
	}
}
