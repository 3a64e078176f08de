package cli

import (
	"strings"
	"testing"
)

// Where a line does not fit, columns that can be spared go first, then cells are cut, the
// first of a row last.
func TestSparedColumns(t *testing.T) {
	for _, x := range []struct {
		cols int
		want string
	}{
		{0, "NAME                      ID     STATE    COMMAND\ngentle-aspen-refactoring  s1234  running  /bin/bash\n"},
		{60, "NAME                      ID     STATE    COMMAND\ngentle-aspen-refactoring  s1234  running  /bin/bash\n"},
		{48, "NAME                      ID     STATE    COMMA…\ngentle-aspen-refactoring  s1234  running  /bin/…\n"},
		{40, "NAME                      STATE    COMM…\ngentle-aspen-refactoring  running  /bin…\n"},
		{30, "NAME             STATE    COM…\ngentle-as…oring  running  /bi…\n"},
	} {
		var out strings.Builder
		table := &Table{out: &out, cols: x.cols, last: 4}
		table.Row("NAME", "ID", "STATE", "COMMAND")
		table.Row("gentle-aspen-refactoring", "s1234", "running", "/bin/bash")
		table.Spare("ID")
		if err := table.Flush(); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); got != x.want {
			t.Errorf("at %d columns:\n%s", x.cols, got)
		}
	}
}
