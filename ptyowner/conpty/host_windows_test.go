package conpty

import (
	"slices"
	"testing"

	"golang.org/x/sys/windows"
)

func TestBatchLine(t *testing.T) {
	for _, tt := range []struct {
		argv []string
		want string
	}{
		{[]string{`C:\tool.exe`, "a,b"}, ""},
		{[]string{`C:\tool.cmd`}, `C:\tool.cmd`},
		{[]string{`C:\My Tools\tool.BAT`, "plain", "--model=x", "a,b;c", "", `C:\a b\`, `C:\a`, `x=\\`},
			`"C:\My Tools\tool.BAT" plain "--model=x" "a,b;c" "" "C:\a b\\" C:\a "x=\\\\"`},
	} {
		got, err := batchLine(tt.argv)
		if err != nil || got != tt.want {
			t.Errorf("%q: %s, %v, want %s", tt.argv, got, err, tt.want)
		}
		if back, err := windows.DecomposeCommandLine(got); got != "" && (err != nil || !slices.Equal(back, tt.argv)) {
			t.Errorf("%s is read as %q, %v", got, back, err)
		}
	}
	for _, arg := range []string{"a&b", `"`, "%PATH%", "a\nb", "^", "!x!", "a|b", "<x"} {
		if got, err := batchLine([]string{`C:\tool.cmd`, arg}); err == nil {
			t.Errorf("%q is passed on: %s", arg, got)
		}
	}
}
