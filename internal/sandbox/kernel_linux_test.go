package sandbox

import (
	"strings"
	"testing"
)

// Without bubblewrap the kernel decides which level there is. scripts/vm-test.sh runs
// this on several kernels, and reads the ABI from the log.
func TestKernelDecides(t *testing.T) {
	s := Probe()
	t.Logf("landlock: ABI %d", s.ABI)
	s.Bubblewrap, s.NoBubblewrap = "", "bubblewrap is not installed: install the package bubblewrap"
	if m, err := Choose(Strict, s); err == nil || !strings.Contains(err.Error(), "needs bubblewrap") {
		t.Errorf("strict: method %q: %v", m, err)
	}
	m, err := Choose(Workspace, s)
	out, code := shell(t, newPlace(t).policy(Landlock), "echo ran")
	if s.ABI >= minABI {
		if m != Landlock || err != nil || s.NoLandlock != "" {
			t.Errorf("workspace: method %q: %v; %s", m, err, s.NoLandlock)
		}
		if out != "ran" || code != 0 {
			t.Errorf("a program under Landlock: exit status %d\n%s", code, out)
		}
		return
	}
	for _, said := range []string{errorText(err), out} {
		if !strings.Contains(said, "Landlock") || !strings.Contains(said, "Linux 6.2 or newer") && s.ABI > 0 {
			t.Errorf("ABI %d is refused with %q", s.ABI, said)
		}
	}
	if m != "" || code != exitRefused || strings.Contains(out, "ran") {
		t.Errorf("ABI %d: method %q, exit status %d, want a refusal\n%s", s.ABI, m, code, out)
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
