package environ

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Names that differ in case are one: Windows has Path, and programs ask for PATH.
func TestCaseOfNames(t *testing.T) {
	in := []string{`Path=C:\a`, `ProgramFiles(x86)=C:\p`, "aws_profile=x", `SYSTEMROOT=C:\w`, `PATH=C:\b`}
	got, _ := Rules{Forward: []string{"*"}, Deny: []string{"AWS_*"}}.Pass(in)
	if want := []string{`PATH=C:\b`, `ProgramFiles(x86)=C:\p`, `SYSTEMROOT=C:\w`}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Allowed(in[:1]); !slices.Equal(got, in[:1]) {
		t.Errorf("of %q is allowed %q", in[:1], got)
	}
	if got := Lookup(in[:1], "PATH"); got != `C:\a` {
		t.Errorf("PATH is %q", got)
	}
	var e Environment
	e.Set(Caller, `Path=C:\a`, "Other=1")
	e.SetMissing(Listed, `PATH=C:\b`)
	if e.Lookup("PATH") != `C:\a` || e.Source("PATH") != Caller {
		t.Errorf("%q, %q", e.Entries(), e.Sources())
	}
	e.Set(Named, `PATH=C:\c`)
	if want := []string{"Other=1", `PATH=C:\c`}; !slices.Equal(e.Entries(), want) || e.Source("Path") != Named {
		t.Errorf("%q, %q", e.Entries(), e.Sources())
	}
	if e.Remove("path"); e.Lookup("PATH") != "" || len(e.Sources()) != 1 {
		t.Errorf("%q, %q", e.Entries(), e.Sources())
	}
}

func TestIsName(t *testing.T) {
	for name, want := range map[string]bool{"PATH": true, "ProgramFiles(x86)": true, "ÄÖ": true, "": false, "=C:": false, "a\nb": false, "a\x00": false} {
		if IsName(name) != want {
			t.Errorf("%q: %v", name, !want)
		}
	}
}

// A name without an ending is that of a program with one of PATHEXT: npm puts tool,
// a script for Unix, beside tool.cmd.
func TestProgram(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"tool", "tool.cmd", "name.with.dots.exe", "plain"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct{ name, endings, want string }{
		{"tool", "", "tool.CMD"},
		{"tool", ".exe;.cmd", "tool.cmd"},
		{"tool", ".exe", ""},
		{"tool.cmd", "", "tool.cmd"},
		{"name.with.dots", "", "name.with.dots.EXE"},
		{"plain", "", ""},
		{"none", "", ""},
	} {
		got, ok := Program(filepath.Join(dir, x.name), x.endings)
		if ok != (x.want != "") || ok && filepath.Base(got) != x.want {
			t.Errorf("%s with %q: %q, %v", x.name, x.endings, got, ok)
		}
	}
}
