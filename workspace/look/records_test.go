package look

import (
	"strconv"
	"strings"
	"testing"
)

// FuzzRecords gives records to all that reads those of git's.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("# branch.oid x\x00# branch.head main\x00# branch.upstream o/main\x00# branch.ab +1 -2\x001 .M N... a\x00u UU b\x00? c\x001 \x001 M"))
	f.Add([]byte(":100644 100644 1 2 M\x00a\x00:100644 100644 1 2 R100\x00a\x00b\x001\t2\ta\x001\t2\t\x00a\x00b\x00-\t-\tc\x00: \x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		status := statusParser{status: &Status{Files: &Files{}}}
		files := &filesParser{diff: Diff{Files: []FileChange{}}, at: map[string]int{}}
		for record := range strings.SplitSeq(string(data), "\x00") {
			status.take(record)
			files.take(record)
		}
		_ = status.status.upstream(status.ab) // what are no numbers is an error
		for _, f := range files.diff.Files {
			if strings.ContainsFunc(f.Path, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("path %q", f.Path)
			}
		}
	})
}
