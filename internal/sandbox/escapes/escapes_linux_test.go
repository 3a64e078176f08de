package escapes

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/egress"
	"middleman/internal/sandbox"
)

// TestMain makes the test binary a helper, as the real one is.
func TestMain(m *testing.M) {
	if args := os.Args[1:]; sandbox.IsHelper(args) {
		exit, _ := sandbox.Main(args, egress.Proxy{})
		os.Exit(exit)
	} else if egress.IsHelper(args) {
		os.Exit(egress.Main(args[1:]))
	} else if len(args) > 0 && args[0] == Command {
		os.Exit(Main(args[1:]))
	}
	os.Exit(m.Run())
}

// place is a directory for attempts.
func place(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// settings are the methods and levels that there are.
var settings = []struct {
	method sandbox.Method
	level  sandbox.Level
}{{sandbox.Bubblewrap, sandbox.Workspace}, {sandbox.Bubblewrap, sandbox.Strict}, {sandbox.Landlock, sandbox.Workspace}}

// Every attempt is blocked, or listed as not covered. An attempt that is listed and
// blocked all the same is only told: it may depend on the system.
func TestEscapes(t *testing.T) {
	if n := len(all()); n < 60 {
		t.Fatalf("there are %d attempts, want 60 or more", n)
	}
	support := sandbox.Probe()
	for _, c := range settings {
		t.Run(string(c.method)+" "+string(c.level), func(t *testing.T) {
			if m, err := sandbox.Choose(c.level, support); c.method == sandbox.Bubblewrap && (err != nil || m != c.method) {
				t.Skipf("this system has no bubblewrap: %s", support.NoBubblewrap)
			}
			if c.method == sandbox.Landlock && support.NoLandlock != "" {
				t.Skipf("this system has no sandbox by Landlock: %s", support.NoLandlock)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			results, err := Try(ctx, place(t), c.level, c.method)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range results {
				if !r.Blocked && !r.Listed {
					t.Errorf("ESCAPED: %s: %s", r.Area, r.Name)
				} else if r.Blocked && r.Listed {
					t.Logf("listed, and blocked here: %s: %s", r.Name, r.Detail)
				}
			}
		})
	}
}

// Without a sandbox the attempts succeed: so what blocks them is the sandbox.
func TestAttemptsWorkOutside(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	s, clean, err := build(ctx, place(t))
	if err != nil {
		t.Fatal(err)
	}
	defer clean()
	found, err := s.run(ctx)
	if err != nil {
		t.Fatal(err)
	}
	worked := 0
	for _, a := range all() {
		r, ok := found[a.name]
		if !ok {
			t.Errorf("%s did not end", a.name)
		}
		if !r.Blocked {
			worked++
		} else if a.outside == everyone || a.outside == root && os.Geteuid() == 0 {
			t.Errorf("%s: %s", a.name, r.Detail)
		} else {
			t.Logf("does not work here: %s: %s", a.name, r.Detail)
		}
	}
	t.Logf("%d of %d attempts work outside", worked, len(all()))
}

// SECURITY.md lists what a program can still do, and nothing else.
func TestGapsAreListed(t *testing.T) {
	cell := func(below int) string {
		switch below {
		case 0:
			return "no"
		case always:
			return "yes"
		}
		return fmt.Sprintf("below ABI %d", below)
	}
	table := "| area | a program can still | bubblewrap | bubblewrap, strict | Landlock |\n|---|---|---|---|---|\n"
	for _, a := range all() {
		if a.gap != (gap{}) {
			table += fmt.Sprintf("| %s | %s | %s | %s | %s |\n", a.area, a.name, cell(a.gap.bubblewrap), cell(a.gap.strict), cell(a.gap.landlock))
		}
	}
	page, err := os.ReadFile("../../../SECURITY.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(page), "\n\n"+table+"\n") {
		t.Errorf("SECURITY.md lacks this table:\n%s", table)
	}
}
