package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A helper process has nothing of the server in its memory: it runs, and
// ends, before those packages are initialised.
func TestHelpersInitialiseNoServer(t *testing.T) {
	cmd := exec.Command(os.Args[0], "pty-owner")
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	out, err := cmd.CombinedOutput() // it is given no specification, so it ends
	if err == nil || !strings.Contains(string(out), "init middleman/ptyowner @") {
		t.Fatalf("pty-owner without a specification: %v\n%s", err, out)
	}
	for _, name := range []string{"net/http", "github.com/danielgtaylor/huma/v2", "modernc.org/sqlite",
		"middleman/internal/server", "middleman/internal/app", "middleman/internal/listen"} {
		if strings.Contains(string(out), "init "+name+" @") {
			t.Errorf("an owner initialises %s", name)
		}
	}
}
