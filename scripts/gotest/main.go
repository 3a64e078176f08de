// Command gotest runs `go test` with its arguments and prints what that prints,
// then which tests took longest, and each that was skipped, with its reason. Where CI=true, a skip
// that is not in the list of those that must be is a failure: a test that asks
// for something in the wrong way would else never run again, and nobody would
// see.
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// expected are the skips that there may be in CI, by what they say.
var expected = regexp.MustCompile(strings.Join([]string{
	// Another run has them.
	`only as the child of`, `^-short`, `takes as long as`, `^not under Wine`, `MIDDLEMAN_LONG`, `^only root can`, `only for scripts/vt-golden`,
	// There is nothing to test.
	`year outside of range`, `has no terminal without`, `there is no server`, `a program in a pane is in no scope`, `root may write everywhere`,
	// The machine has no such thing.
	`^no kernel thread is seen`, `this git has no reftable`, `no IPv6 here`, `no mount namespace`, `no other file system`, `no large file`, `no sparse file`,
	`nothing can be made in /run`, `no cgroup to be had`, `not at the root of a hierarchy`, `this process is in `, `this user has no group`,
	// By chance.
	`never in the way`, `tmux gave pane`, `is in use here`,
}, "|"))

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // in seconds; of a parallel test, without its wait to go on
}

// pack is what a package has printed, and which of its tests came to what.
type pack struct {
	lines  []event
	quiet  map[string]bool // tests that have passed or were skipped
	failed bool
}

// report prints what go test prints without -json, and keeps the skips.
type report struct {
	w        io.Writer
	packages map[string]*pack
	skips    []string // "package test: reason"
	slow     []event  // ends of tests that took long
}

// What report calls slow, and how many it tells: where to look when CI takes too long.
const (
	slowFrom = 10 // seconds
	maxSlow  = 15
)

func (r *report) take(e event) {
	p := r.packages[e.Package]
	if p == nil {
		p = &pack{quiet: make(map[string]bool)}
		r.packages[e.Package] = p
	}
	switch e.Action {
	case "output", "build-output":
		p.lines = append(p.lines, e)
	case "skip":
		if e.Test != "" {
			r.skips = append(r.skips, fmt.Sprintf("%s %s: %s", e.Package, e.Test, p.reason(e.Test)))
		}
	case "fail":
		p.failed = true
	}
	if e.Test != "" && (e.Action == "pass" || e.Action == "skip") {
		p.quiet[e.Test] = true
	}
	if e.Test != "" && e.Elapsed >= slowFrom && (e.Action == "pass" || e.Action == "fail") {
		r.slow = append(r.slow, e)
	}
	if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
		p.print(r.w)
		delete(r.packages, e.Package)
	}
}

// slowest are the tests that took longest, the slowest first. A test that others are a
// part of took as long as they did, and is left out.
func (r *report) slowest() []event {
	slow := slices.DeleteFunc(slices.Clone(r.slow), func(e event) bool {
		return slices.ContainsFunc(r.slow, func(part event) bool {
			return part.Package == e.Package && strings.HasPrefix(part.Test, e.Test+"/")
		})
	})
	slices.SortFunc(slow, func(a, b event) int { return cmp.Compare(b.Elapsed, a.Elapsed) })
	return slow[:min(len(slow), maxSlow)]
}

// print prints what belongs to the package or to a test that has failed, or has not ended:
// the stacks of a test that hung belong to it.
func (p *pack) print(w io.Writer) {
	for _, e := range p.lines {
		if e.Test != "" && (p.quiet[e.Test] || !p.failed) || e.Test == "" && e.Output == "PASS\n" || strings.HasPrefix(e.Output, "=== ") {
			continue
		}
		fmt.Fprint(w, e.Output)
	}
}

// said is a line of t.Skip: file, line number and what it says first.
var said = regexp.MustCompile(`^\s+\S+\.go:\d+: (.*)`)

// reason is what a test said last, at its skip.
func (p *pack) reason(test string) string {
	for _, e := range slices.Backward(p.lines) {
		if m := said.FindStringSubmatch(e.Output); e.Test == test && m != nil {
			return m[1]
		}
	}
	return "no reason"
}

// unexpected are the skips that none of expected covers.
func unexpected(skips []string) (others []string) {
	for _, s := range skips {
		_, reason, _ := strings.Cut(s, ": ")
		if !expected.MatchString(reason) {
			others = append(others, s)
		}
	}
	return others
}

func run(args []string) (*report, error) {
	cmd := exec.Command("go", append([]string{"test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	r := &report{w: os.Stdout, packages: make(map[string]*pack)}
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			fmt.Println(lines.Text()) // not of go test
			continue
		}
		r.take(e)
	}
	for _, p := range r.packages { // of which the end was not told
		p.failed = true
		p.print(r.w)
	}
	if err := lines.Err(); err != nil {
		return r, err
	}
	return r, cmd.Wait()
}

func main() {
	r, err := run(os.Args[1:])
	if r != nil {
		for _, e := range r.slowest() {
			fmt.Printf("slow: %s %s: %.0f s\n", e.Package, e.Test, e.Elapsed)
		}
		for _, s := range r.skips {
			fmt.Println("skipped:", s)
		}
		if others := unexpected(r.skips); len(others) > 0 && os.Getenv("CI") == "true" {
			fmt.Fprintf(os.Stderr, "gotest: CI skips what it must run:\n%s\n", strings.Join(others, "\n"))
			os.Exit(1)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "gotest:", err)
		os.Exit(1)
	}
}
