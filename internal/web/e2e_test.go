package web

import (
	"cmp"
	"context"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestInBrowser runs scripts/web-e2e: the real binary, driven by a real
// Chromium. Pictures go to $ARTIFACTS, where it is set. It needs node, npm and Chromium; where one is missing it is
// skipped, or with CI=true fails.
func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no browser is started")
	}
	scripts, err := filepath.Abs("../../scripts/web-e2e")
	if err != nil {
		t.Fatal(err)
	}
	node, browser := need(t, "node"), chromium(t)
	install(t, scripts, "playwright-core", "axe-core")
	watchSources(t)
	binary := filepath.Join(t.TempDir(), "middleman")
	if out, err := exec.Command("go", "build", "-o", binary, "middleman/cmd/middleman").CombinedOutput(); err != nil {
		t.Fatalf("build the binary: %v\n%s", err, out)
	}

	for suite, backends := range map[string][]string{
		"e2e":     {"", "pty-owner"}, // "" is what a newcomer gets: tmux, where that is installed
		"agents":  {""},
		"changes": {""},
		"hostile": {""},
		"needs":   {""},
		"phone":   {""},
		"push":    {""},
		"share":   {""},
		"tabs":    {"", "pty-owner"},
		"windows": {""},
	} {
		t.Run(suite, func(t *testing.T) {
			t.Parallel() // each has a server and a browser of its own
			for _, backend := range backends {
				t.Run(cmp.Or(backend, "default"), func(t *testing.T) {
					runSuite(t, node, scripts, suite, "MIDDLEMAN_BINARY="+binary, "CHROMIUM="+browser, "BACKEND="+backend)
				})
			}
		})
	}
}

// runSuite runs one file of tests under node.
func runSuite(t *testing.T, node, scripts, suite string, env ...string) {
	// Alone it takes 80 s; beside other tests on a slow machine it took five
	// minutes. Node gets the signal at the end of the time, and then cleans up.
	ctx, cancel := context.WithTimeout(t.Context(), 12*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, "--test", "--test-reporter=spec", suite+".test.mjs")
	cmd.Dir = scripts
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = time.Minute
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("%s", out)
}

// watchSources makes the result of the test depend on all of the module, so
// that go test does not take a cached one for another binary.
func watchSources(t *testing.T) {
	t.Helper()
	err := filepath.WalkDir("../..", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules" || entry.Name() == "testdata"):
			return filepath.SkipDir
		case filepath.Ext(name) == ".go" || filepath.Ext(name) == ".mjs":
			_, err = os.Stat(name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestTypes checks the client's types, which its build ignores.
func TestTypes(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: no compiler is installed")
	}
	node := need(t, "node")
	install(t, ".", "typescript")
	compiler := filepath.Join("node_modules", "typescript", "bin", "tsc")
	if out, err := exec.Command(node, compiler, "--project", "tsconfig.json").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// need returns the path of a program, or ends the test.
func need(t *testing.T, names ...string) string {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	missing(t, names[0]+" is not in PATH")
	return ""
}

func chromium(t *testing.T) string {
	t.Helper()
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path
	}
	return need(t, "chromium", "chromium-browser", "google-chrome")
}

// install gets the pinned modules of dir, unless all of modules are there.
func install(t *testing.T, dir string, modules ...string) {
	t.Helper()
	there := func(module string) bool {
		_, err := os.Stat(filepath.Join(dir, "node_modules", module))
		return err == nil
	}
	if !slices.ContainsFunc(modules, func(m string) bool { return !there(m) }) {
		return
	}
	cmd := exec.Command(need(t, "npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		missing(t, "npm ci: "+err.Error()+"\n"+string(out))
	}
}

// missing skips the test for want of a tool; CI has them all.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}
