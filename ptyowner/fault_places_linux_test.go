//go:build faults

package ptyowner_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// places are those that the tests visit, each with the test that does. A place
// in the sources that is not among them fails TestFaultEveryPlaceIsVisited.
var places = slices.Concat(starterPlaces, ownerStartPlaces, exitPlaces, stopPlaces, startWrites, exitWrites,
	upgradePlaces, upgradeErrors,
	[]string{"exit/journal-filled", "output/taken", "journal/append", "journal/roll", "spill/write", "viewer/panic", "screen/panic"})

// place is how a place is named in the sources; one in a function that writes
// several files has the file's name in it.
var place = regexp.MustCompile(`\b(?:fault\.(?:Here|Error)|fault)\("([^"]+)"(?: ?\+ ?name(?: ?\+ ?"([^"]*)")?)?\)`)

func TestFaultEveryPlaceIsVisited(t *testing.T) {
	var named []string
	for pattern, prefix := range map[string]string{"*.go": "", "owner/*.go": "", "state/*.go": "", "../internal/proc/*.go": "", "../terminal/journal/*.go": "journal/"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			source, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") || strings.HasSuffix(file, "fault_on.go") {
				continue
			}
			for _, m := range place.FindAllStringSubmatch(string(source), -1) {
				if !strings.HasSuffix(m[1], "/") {
					named = append(named, prefix+m[1])
					continue
				}
				for _, name := range []string{"owner.json", "screen.ans", "exit.json"} {
					named = append(named, m[1]+name+m[2])
				}
			}
		}
	}
	slices.Sort(named)
	named = slices.Compact(named)
	if len(named) < 30 {
		t.Errorf("only %d places found: %q", len(named), named)
	}
	for _, name := range named {
		if !slices.Contains(places, name) {
			t.Errorf("no test visits %s", name)
		}
	}
	for _, name := range places {
		if !slices.Contains(named, name) {
			t.Errorf("a test visits %s, which is nowhere", name)
		}
	}
}
