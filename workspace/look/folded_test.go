package look

import (
	"fmt"
	"slices"
	"testing"

	"middleman/workspace/model"
)

// A directory with many files is one entry, so that what follows it is listed; one with
// few is not, and files at the top never are.
func TestFolded(t *testing.T) {
	var f folded
	for i := range 500 {
		f.add(fmt.Sprintf("node_modules/%d/index.js", i))
	}
	for i := range maxOfDirectory {
		f.add(fmt.Sprintf("src/%d.c", i))
	}
	f.add("top")
	var l collector
	l.unfold(f)
	got := l.loss.Untracked
	if len(got) != 2+maxOfDirectory || got[0] != "node_modules/ (500 files)" || got[1] != "src/0.c" || got[len(got)-1] != "top" || l.loss.Truncated {
		t.Errorf("%q, cut: %v", got, l.loss.Truncated)
	}
	if text := l.loss.Summary(); text != "521 untracked files" {
		t.Error(text)
	}
	var top folded
	for i := range 10000 {
		top.add(fmt.Sprint(i))
	}
	l = collector{}
	l.unfold(top)
	if len(l.loss.Untracked) != model.MaxListed || !l.loss.Truncated || slices.Contains(l.loss.Untracked, "9999") {
		t.Errorf("%d entries of files at the top, cut: %v", len(l.loss.Untracked), l.loss.Truncated)
	}
}
