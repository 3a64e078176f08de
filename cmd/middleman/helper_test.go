package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"middleman/internal/sandbox"
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

// A sandbox without a network list starts before the packages of the network, and of
// all that needs them, are initialised.
func TestSandboxInitialisesNoNetwork(t *testing.T) {
	cmd := exec.Command(os.Args[0], sandbox.Command)
	cmd.Env = []string{"GODEBUG=inittrace=1"}
	out, err := cmd.CombinedOutput() // it is given no policy, so it ends
	if err == nil || !strings.Contains(string(out), "init middleman/internal/sandbox @") {
		t.Fatalf("sandbox-exec without a policy: %v\n%s", err, out)
	}
	for _, name := range []string{"net", "crypto/tls", "net/http", "regexp", "github.com/danielgtaylor/huma/v2/yaml", "middleman/internal/egress", "middleman/ptyowner"} {
		if strings.Contains(string(out), "init "+name+" @") {
			t.Errorf("a sandbox initialises %s", name)
		}
	}
}
