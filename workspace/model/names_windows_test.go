package model

import "testing"

// Names that Windows keeps for devices are no names of directories; how a name is
// written does not matter.
func TestReservedNames(t *testing.T) {
	for name, want := range map[string]bool{
		"con": false, "nul": false, "aux": false, "prn": false, "com1": false, "lpt9": false, "nul.txt": false, "con.a.b": false,
		"con-2": true, "nulls": true, "com10": true, "fix": true, "a.con": true,
		"com\u00b9": false, "conin$": false, "fix~1": false, "fix:x": false, "fix.": false, "fix ": false, "Fix": false, "a:b": false, `a\b`: false,
	} {
		if got := IsPlaceName(name); got != want {
			t.Errorf("%q is a name of a directory: %t, want %t", name, got, want)
		}
	}
	if got := Group(`C:\work\CON`); got != "repository" {
		t.Errorf("the worktrees of a repository CON are in %q", got)
	}
}
