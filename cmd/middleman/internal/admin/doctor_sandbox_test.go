package admin

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"middleman/internal/sandbox"
	"middleman/internal/sandbox/escapes"
)

func TestCheckSandbox(t *testing.T) {
	const noBwrap = "bubblewrap is not installed: install the package bubblewrap"
	const noSpaces = "bubblewrap at /usr/bin/bwrap cannot make a sandbox for this user: no namespaces"
	const old = "this kernel has ABI 2 of Landlock and 3 is needed: Linux 6.2 or newer has it"
	blocked := escapes.Result{Name: "write", Area: "files", Blocked: true, Detail: "read-only"}
	listed := escapes.Result{Name: "chmod", Area: "files", Listed: true}
	absent := escapes.Result{Name: "docker", Area: "channels", Blocked: true, Absent: true}
	escaped := escapes.Result{Name: "read a key", Area: "hidden files"}
	bwrap := sandbox.Support{Bubblewrap: "/usr/bin/bwrap", Version: "0.8.0", ABI: 7}
	for _, c := range []struct {
		name    string
		in      sandbox.Support
		results []escapes.Result
		err     error
		want    []string // "state check: part of the detail"
	}{
		{"all is there", bwrap, []escapes.Result{blocked, listed, absent}, nil, []string{
			"ok sandbox methods: bubblewrap 0.8.0 at /usr/bin/bwrap; Landlock ABI 7",
			"ok sandbox workspace: by bubblewrap, which blocked 1 attempts to get out; it does not cover 1 others, and 1 had nothing to aim at",
			"ok sandbox strict: by bubblewrap",
		}},
		{"an attempt that got out", bwrap, []escapes.Result{blocked, escaped}, nil, []string{
			"ok sandbox methods:", "problem sandbox workspace: by bubblewrap, and 1 of 2 attempts got out of it (hidden files: read a key)", "problem sandbox strict:",
		}},
		{"nothing was tried", bwrap, []escapes.Result{absent}, nil, []string{"ok sandbox methods:", "problem sandbox workspace:", "problem sandbox strict:"}},
		{"it cannot be tried", bwrap, nil, errors.New("disk full"), []string{
			"ok sandbox methods:", "problem sandbox workspace: by bubblewrap, which could not be tried: disk full", "problem sandbox strict:",
		}},
		{"no bubblewrap", sandbox.Support{NoBubblewrap: noBwrap, ABI: 6}, []escapes.Result{blocked, listed}, nil, []string{
			"note sandbox methods: " + noBwrap + "; Landlock ABI 6",
			"note sandbox workspace: by landlock, which blocked 1", "note sandbox strict: not available: sandbox strict needs bubblewrap: " + noBwrap,
		}},
		{"no user namespaces, old Landlock", sandbox.Support{NoBubblewrap: noSpaces, ABI: 2, NoLandlock: old}, nil, nil, []string{
			"note sandbox methods: " + noSpaces + "; " + old,
			"note sandbox workspace: not available: sandbox workspace needs bubblewrap or Landlock: " + noSpaces + "; " + old,
			"note sandbox strict: not available: sandbox strict needs bubblewrap: " + noSpaces,
		}},
		{"macOS", sandbox.Support{Seatbelt: "/usr/bin/sandbox-exec"}, nil, fmt.Errorf("try: %w", errors.ErrUnsupported), []string{
			"ok sandbox methods: Seatbelt at /usr/bin/sandbox-exec", "note sandbox workspace: by seatbelt, which doctor cannot try", "note sandbox strict: by seatbelt",
		}},
	} {
		found, all := checkSandbox(c.in, func(sandbox.Level, sandbox.Method) ([]escapes.Result, error) { return c.results, c.err })
		if len(found) != len(c.want) {
			t.Fatalf("%s: %+v", c.name, found)
		}
		for i, f := range found {
			if got := f.State + " " + f.Check + ": " + f.Detail; !strings.HasPrefix(got, c.want[i]) {
				t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want[i])
			}
		}
		for _, box := range all {
			if len(box.Attempts) != len(c.results) {
				t.Errorf("%s: %d attempts are told, want %d", c.name, len(box.Attempts), len(c.results))
			}
		}
	}
}

func TestOutcome(t *testing.T) {
	for want, r := range map[string]escapes.Result{
		"blocked":     {Blocked: true, Listed: true},
		"not covered": {Listed: true},
		"ESCAPED":     {},
		"not tried":   {Blocked: true, Absent: true},
	} {
		if got, _ := outcome(r); got != want {
			t.Errorf("%+v is %q, want %q", r, got, want)
		}
	}
}
