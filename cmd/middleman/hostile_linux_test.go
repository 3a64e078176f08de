package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rogpeppe/go-internal/testscript"

	"middleman/internal/store"
)

// cmdRestoring gives every deleted workspace the row that a server leaves which
// ends while it restores it:
//
//	restoring
func cmdRestoring(ts *testscript.TestScript, _ bool, _ []string) {
	s, err := store.Open(context.Background(), filepath.Join(ts.Getenv("MIDDLEMAN_HOME"), "data", "middleman.db"))
	ts.Check(err)
	defer s.Close()
	list, _, err := s.DeletedWorkspaces(context.Background(), store.Page{Limit: -1})
	ts.Check(err)
	for _, d := range list {
		ts.Check(s.ReviveDeleted(context.Background(), d.ID, d.Name))
	}
}

// steers finds what would steer a terminal, hide, or change the order of what
// is read.
func steers(out string) string {
	out = strings.ReplaceAll(out, "\u2764\ufe0f", "") // an emoji is shown as one
	for i, r := range out {
		if r == utf8.RuneError && !strings.HasPrefix(out[i:], "\ufffd") {
			return fmt.Sprintf("byte %#x", out[i])
		}
		if r < ' ' && r != '\n' && r != '\t' || 0x7f <= r && r < 0xa0 || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) {
			return fmt.Sprintf("%U", r)
		}
	}
	return ""
}

// cmdHarmless looks at what the last command has printed:
//
//	harmless
func cmdHarmless(ts *testscript.TestScript, _ bool, _ []string) {
	for _, name := range []string{"stdout", "stderr"} {
		if out := ts.ReadFile(name); steers(out) != "" {
			ts.Fatalf("%s has %s: %q", name, steers(out), out)
		}
	}
}

// cmdHostileArgument runs middleman with a hostile last argument. It fails, or
// finds nothing, and what it says of that steers nothing:
//
//	hostile-argument ARGUMENT...
func cmdHostileArgument(ts *testscript.TestScript, _ bool, args []string) {
	for _, last := range []string{"\x1b[31mx", "\u009b31mx", "x\x9b31m", "x\u202ey", "x\ny\rz", "x\u3164y\ufe0f\U000e0130"} {
		out, _ := command(ts, append(append([]string{"middleman"}, args...), last)...).CombinedOutput()
		if len(out) == 0 || steers(string(out)) != "" {
			ts.Fatalf("middleman %q prints %s: %q", append(args, last), steers(string(out)), out)
		}
	}
}

// cmdBytes finds bytes, written as in a Go string, in what the last command
// has printed, or, with !, not:
//
//	bytes TEXT
func cmdBytes(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Unquote(`"` + args[0] + `"`)
	ts.Check(err)
	if out := ts.ReadFile("stdout"); strings.Contains(out, want) == neg {
		ts.Fatalf("%q in %q", want, out)
	}
}
