package sandbox

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// What the program's variables make a loader do is done in the sandbox alone: bwrap, which
// runs outside, has none of them.
func TestBubblewrapHasNoVariables(t *testing.T) {
	looked := func(out string) int {
		return strings.Count(out, "cannot be preloaded") + strings.Count(out, "Error loading shared library")
	}
	// This binary may be a dynamic program itself, the real one is none.
	self := exec.Command("/proc/self/exe", "-test.run=^$")
	self.Env = append(os.Environ(), "LD_PRELOAD=/nonexistent/planted.so")
	own, err := self.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, own)
	}
	eachMethod(t, func(t *testing.T, m Method) {
		at := newPlace(t)
		library := at.workspace + "/planted.so"
		cmd := command(t, at.policy(m), "sh", "-c", `echo "[$LD_PRELOAD] [$TWO_LINES]"`)
		cmd.Env = append(os.Environ(), "LD_PRELOAD="+library, "TWO_LINES=a\nb=c")
		raw, err := cmd.CombinedOutput()
		out := string(raw)
		if err != nil || !strings.Contains(out, "["+library+"] [a\nb=c]") {
			t.Errorf("%v: %s", err, out)
		}
		// Each dynamic program says that the library is not there: besides this one, the
		// shell alone may.
		if n := looked(out) - looked(string(own)); n != 1 {
			t.Errorf("%d programs looked for the library: %s", n, out)
		}
	})
}

// A program gets each of its arguments, also more of them than bwrap takes.
func TestManyArguments(t *testing.T) {
	eachMethod(t, func(t *testing.T, m Method) {
		const n = 100_000
		argv := []string{"sh", "-c", `echo "$# [$1] [$2] [$3]"; shift $(($# - 1)); echo "[$1]"`, "sh", "", "a\nb", "--"}
		for len(argv) < 4+n {
			argv = append(argv, "x")
		}
		out, err := command(t, newPlace(t).policy(m), argv...).CombinedOutput()
		if want := "100000 [] [a\nb] [--]\n[x]\n"; err != nil || string(out) != want {
			t.Errorf("%v: %.200s, want %s", err, out, want)
		}
	})
}
