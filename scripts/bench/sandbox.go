//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"middleman/internal/sandbox"
)

// hiddenPlaces is how many directories are hidden in the sandboxes that are
// measured: more than most homes have of those that are hidden by default.
const hiddenPlaces = 24

// confined is a way to start a program in a sandbox.
type confined struct {
	what   string
	method sandbox.Method
	level  sandbox.Level
	bar    time.Duration
}

// sandbox is how much later the first byte of a program comes if `middleman
// sandbox-exec` starts it in a sandbox than if it is started plainly.
func (b *bench) sandbox() error {
	dir, err := os.MkdirTemp(b.dir, "sandbox")
	if err != nil {
		return err
	}
	program := []string{"/bin/echo", "x"}
	all := []confined{
		{"bwrap", sandbox.Bubblewrap, sandbox.Workspace, 20 * time.Millisecond},
		{"bwrap strict", sandbox.Bubblewrap, sandbox.Strict, 20 * time.Millisecond},
		{"Landlock", sandbox.Landlock, sandbox.Workspace, 5 * time.Millisecond},
	}
	argvs := [][]string{program}
	var there []confined
	for _, c := range all {
		if reason := missing(c.method); reason != "" {
			b.rows = append(b.rows, row{what: "sandbox, " + c.what, failure: errors.New(reason)})
			continue
		}
		argv, err := b.confine(dir, c, program)
		if err != nil {
			return err
		}
		there = append(there, c)
		argvs = append(argvs, argv)
	}
	took := make([][]time.Duration, len(argvs))
	for range b.pick(100, 30) {
		for i, argv := range argvs {
			d, err := b.firstByte(argv)
			if err != nil {
				return err
			}
			took[i] = append(took[i], d)
		}
	}
	plain := percentile(took[0], 50)
	for i, c := range there {
		beyond := percentile(took[i+1], 50) - plain
		b.rows = append(b.rows, row{
			what: "sandbox, beyond the program: " + c.what, ours: shown(beyond),
			peer: "plain " + shown(plain), bar: "<= " + shown(c.bar), met: beyond <= c.bar,
		})
	}
	return nil
}

// missing says why a method cannot be used here, "" if it can.
func missing(m sandbox.Method) string {
	support := sandbox.Probe()
	if m == sandbox.Landlock {
		return support.NoLandlock
	}
	return support.NoBubblewrap
}

// confine returns the command line that starts program in a sandbox. Its policy is
// like that of a session: a workspace, a cache, a temporary directory, and hidden
// directories.
func (b *bench) confine(parent string, c confined, program []string) ([]string, error) {
	dir, err := os.MkdirTemp(parent, "s")
	if err != nil {
		return nil, err
	}
	p := sandbox.Policy{
		Schema: 1, Level: c.level, Method: c.method, Session: "s0", Workspace: "w0",
		Dir: filepath.Join(dir, "work"), Temp: filepath.Join(dir, "temp"),
		Writable: []string{filepath.Join(dir, "work"), filepath.Join(dir, "cache")},
		Network:  sandbox.Network{Off: c.level == sandbox.Strict},
	}
	for i := range hiddenPlaces {
		p.Hidden = append(p.Hidden, filepath.Join(dir, "home", fmt.Sprintf("hidden%d", i)))
	}
	for _, path := range append(append([]string{p.Temp}, p.Writable...), p.Hidden...) {
		if err := os.MkdirAll(path, 0o700); err != nil {
			return nil, err
		}
	}
	raw, err := json.Marshal(p)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "policy.json")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return nil, err
	}
	return append([]string{b.binary, "sandbox-exec", "--policy", file, "--digest", p.Digest(), "--"}, program...), nil
}

// firstByte runs a program and returns how long its first byte took.
func (b *bench) firstByte(argv []string) (time.Duration, error) {
	cmd := exec.CommandContext(b.ctx, argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return 0, err
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return 0, err
	}
	_, err = out.Read(make([]byte, 1))
	took := time.Since(began)
	_, rest := io.Copy(io.Discard, out)
	if err := errors.Join(err, rest, cmd.Wait()); err != nil {
		return 0, fmt.Errorf("run %s: %w", argv[0], err)
	}
	return took, nil
}
