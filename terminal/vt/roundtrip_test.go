package vt

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestRoundTripCases cuts every case at every byte: a fresh Terminal that was
// fed a snapshot taken there equals the one that it was taken of, and after
// the rest of the case both equal one that was fed the case uncut.
func TestRoundTripCases(t *testing.T) {
	for _, s := range loadCases(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, s, everyCut(s))
		})
	}
}

// TestRoundTripRecordings cuts every recording at 500 random places.
func TestRoundTripRecordings(t *testing.T) {
	n := 500
	if testing.Short() {
		n = 10
	}
	for _, s := range loadRecordings(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			roundTrip(t, s, randomCuts(s, n))
		})
	}
}

// cut is a place in a script: so many bytes into one of its steps.
type cut struct{ step, offset int }

func (c cut) String() string { return fmt.Sprintf("step %d, byte %d", c.step, c.offset) }

func everyCut(s script) []cut {
	var cuts []cut
	for i, step := range s.steps {
		for offset := range step.bytes {
			cuts = append(cuts, cut{i, offset})
		}
	}
	return append(cuts, cut{len(s.steps), 0})
}

// randomCuts are the same in every run.
func randomCuts(s script, n int) []cut {
	all := everyCut(s)
	seed := fnv.New64a()
	seed.Write([]byte(s.name))
	random := rand.New(rand.NewPCG(seed.Sum64(), 4))
	picked := make([]int, n)
	for i := range picked {
		picked[i] = random.IntN(len(all))
	}
	slices.Sort(picked)
	var cuts []cut
	for _, i := range slices.Compact(picked) {
		cuts = append(cuts, all[i])
	}
	return cuts
}

// roundTrip takes cuts in ascending order.
func roundTrip(t *testing.T, s script, cuts []cut) {
	t.Helper()
	whole := newHarness(s.size())
	whole.run(s, cut{}, cut{len(s.steps), 0})
	want := whole.dump()

	fed := newHarness(s.size())
	at := cut{}
	for _, c := range cuts {
		fed.run(s, at, c)
		at = c
		brought := newHarness(fed.cols, fed.rows)
		snapshot := fed.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1})
		_, _ = brought.Write(snapshot)
		if len(brought.answers) > 0 || brought.bells > 0 {
			t.Fatalf("cut at %s: the snapshot rings or asks: %q", c, snapshot)
		}
		if d := diffDumps(brought.dump(), fed.dump()); d != "" {
			t.Fatalf("cut at %s: brought back is not what was fed: %s\nsnapshot %.2000q", c, d, snapshot)
		}
		brought.run(s, c, cut{len(s.steps), 0})
		if d := diffDumps(brought.dump(), want); d != "" {
			t.Fatalf("cut at %s and fed the rest: brought back is not what was fed whole: %s\nsnapshot %.2000q", c, d, snapshot)
		}
	}
}

// run takes the steps of s from one cut to another.
func (h *harness) run(s script, from, to cut) {
	for i := from.step; i <= to.step && i < len(s.steps); i++ {
		step := s.steps[i]
		if i == to.step {
			if to.offset == 0 {
				return
			}
			step.bytes = step.bytes[:to.offset]
		}
		if i == from.step {
			step.bytes = step.bytes[from.offset:]
		}
		h.take(step)
	}
}

// diffDumps shows the first line in which two dumps differ.
func diffDumps(got, want string) string {
	if got == want {
		return ""
	}
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d\ngot:  %s\nwant: %s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}
