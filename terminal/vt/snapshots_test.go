package vt

import (
	"bufio"
	"encoding/json"
	"flag"
	"os"
	"testing"
)

var (
	snapshotFile = flag.String("snapshots", "", "write the snapshots that scripts/vt-golden/receiver.mjs reads to this `file`")
	snapshotCuts = flag.Int("snapshot-cuts", 20, "cuts of each recording in -snapshots")
)

// snapshotLine is one line of the file: a snapshot taken at a cut.
type snapshotLine struct {
	Name     string `json:"name"`
	Step     int    `json:"step"`
	Offset   int    `json:"offset"`
	Cols     int    `json:"cols"`
	Rows     int    `json:"rows"`
	Snapshot []byte `json:"snapshot"`
}

// TestWriteSnapshots is the half in Go of scripts/vt-golden/receiver.mjs, which
// feeds the snapshots to xterm.js.
func TestWriteSnapshots(t *testing.T) {
	if *snapshotFile == "" {
		t.Skip("only for scripts/vt-golden/receiver.mjs, with -snapshots")
	}
	file, err := os.Create(*snapshotFile)
	if err != nil {
		t.Fatal(err)
	}
	w := bufio.NewWriter(file)
	out := json.NewEncoder(w)
	for _, s := range loadCases(t) {
		writeSnapshots(t, out, s, everyCut(s))
	}
	for _, s := range loadRecordings(t) {
		writeSnapshots(t, out, s, randomCuts(s, *snapshotCuts))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
}

func writeSnapshots(t *testing.T, out *json.Encoder, s script, cuts []cut) {
	t.Helper()
	h := newHarness(s.size())
	at := cut{}
	for _, c := range cuts {
		h.run(s, at, c)
		at = c
		line := snapshotLine{s.name, c.step, c.offset, h.cols, h.rows, h.AppendSnapshot(nil, SnapshotOptions{Scrollback: -1})}
		if err := out.Encode(line); err != nil {
			t.Fatal(err)
		}
	}
}
