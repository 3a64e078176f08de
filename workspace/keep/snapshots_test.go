package keep

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
)

// A snapshot of an older version has its directory in a file of git's. Whoever can
// write to the repository may have put any file there.
func TestRootOfAnOldSnapshot(t *testing.T) {
	dir := t.TempDir()
	run := func(in string, args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		cmd.Stdin = strings.NewReader(in)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull)
		out, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		return string(bytes.TrimSpace(out))
	}
	run("", "init", "-q")
	at := filepath.Join(dir, "base", "w1")
	for content, ok := range map[string]bool{
		at + "/.git\n":                               true,
		strings.Repeat("x", maxRoot+1):               false,
		at + "/.git\n" + strings.Repeat("\n", 1<<20): false,
	} {
		s := snapshot{State: []file{{Path: []byte("gitdir"), Mode: fs.FileMode(0o644), Blob: run(content, "hash-object", "-w", "--stdin")}}}
		root, err := s.root(context.Background(), git.Whole(filepath.Join(dir, ".git")))
		if ok && (err != nil || root != at) || !ok && (err == nil || root != "" || !strings.Contains(err.Error(), "more than 65536 bytes")) {
			t.Errorf("%d bytes: %q, %v", len(content), root, err)
		}
	}
}

// What a manifest can unpack to is bounded, also for io.Copy, by which the output
// of git comes.
func TestBounded(t *testing.T) {
	b := &bounded{most: 10}
	if n, err := io.Copy(b, struct{ io.Reader }{strings.NewReader("0123456789")}); n != 10 || err != nil || b.over != nil {
		t.Errorf("as many as it takes: %d, %v", n, err)
	}
	if _, err := io.Copy(b, struct{ io.Reader }{strings.NewReader("x")}); err == nil || err != b.over || b.buffer.String() != "0123456789" {
		t.Errorf("one more: %v, %q", err, b.buffer.String())
	}
}
