//go:build unix

// Command record runs the scenarios of scripts/vt-golden on a real PTY and
// writes what the programs printed, with the resizes in place, to
// terminal/vt/testdata/recordings. It needs root and unshare(1): each program
// sees a home directory, a host name and processes made for it alone, so that
// nothing of the machine gets into a recording.
//
//	go run ./scripts/vt-golden/record scripts/vt-golden/scenarios/*.scenario
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	out := flag.String("o", "terminal/vt/testdata/recordings", "directory for the recordings")
	setup := flag.String("setup", "scripts/vt-golden/scenarios/setup.sh", "script that prepares the home directory")
	flag.Parse()
	var failed error
	for _, file := range flag.Args() {
		if err := recordFile(file, *setup, *out); err != nil {
			failed = errors.Join(failed, err)
		}
	}
	if failed != nil {
		fmt.Fprintln(os.Stderr, failed)
		os.Exit(1)
	}
}

// recordFile plays one scenario and keeps its recording.
func recordFile(file, setup, outDir string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("read scenario: %w", err)
	}
	scenario, err := parseScenario(string(text))
	if err != nil {
		return fmt.Errorf("parse %s: %w", file, err)
	}
	tape, err := play(scenario, setup)
	if err != nil {
		return fmt.Errorf("play %s: %w", file, err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".scenario") + ".rec.gz"
	if err := tape.save(filepath.Join(outDir, name)); err != nil {
		return fmt.Errorf("keep %s: %w", name, err)
	}
	fmt.Printf("%s: %d bytes\n", name, tape.written)
	return nil
}
