package look

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
)

// Git is not asked for what a reflog holds only if that is certain.
func TestOnlyHead(t *testing.T) {
	head, other := strings.Repeat("a1", 20), strings.Repeat("b2", 20)
	none := strings.Repeat("0", 40)
	entry := func(before, after string) string { return before + " " + after + " A <a@b> 1 +0000\tmessage\n" }
	for _, x := range []struct {
		name, log, head string
		ref             bool
		want            bool
	}{
		{"as it was made", entry(none, head), head, false, true},
		{"the same again", entry(none, head) + entry(head, head), head, false, true},
		{"it was elsewhere", entry(none, other) + entry(other, head), head, false, false},
		{"it came from elsewhere", entry(other, head), head, false, false},
		{"it is elsewhere now", entry(none, head), other, false, false},
		{"a ref of its own", entry(none, head), head, true, false},
		{"a line that is cut", entry(none, head) + head[:20], head, false, false},
		{"a hash that is cut", entry(none, head) + head + " " + head, head, false, false},
		{"an empty line", entry(none, head) + "\n", head, false, false},
		{"an empty log", "", head, false, false},
		{"no commit", entry(none, head), "", false, false},
		{"too long", strings.Repeat(entry(head, head), maxPlainLog/90), head, false, false},
	} {
		dir := t.TempDir()
		p := git.Dirs{GitDir: dir}
		if onlyHead(p, x.head, "") {
			t.Errorf("%s: without a log it is certain", x.name)
		}
		if err := os.MkdirAll(filepath.Join(dir, "logs"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "logs/HEAD"), []byte(x.log), 0o600); err != nil {
			t.Fatal(err)
		}
		if x.ref {
			if err := os.MkdirAll(filepath.Join(dir, "refs/worktree"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		if got := onlyHead(p, x.head, ""); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
	}
}

// The reflog of the branch counts as that of HEAD does.
func TestOnlyHeadOfBranch(t *testing.T) {
	head, other := strings.Repeat("a1", 20), strings.Repeat("b2", 20)
	entry := strings.Repeat("0", 40) + " " + head + " A <a@b> 1 +0000\tmessage\n"
	for _, x := range []struct {
		name, log string
		want      bool
	}{
		{"as it was made", entry, true},
		{"it was elsewhere", entry + strings.ReplaceAll(entry, head, other), false},
		{"a line that is cut", entry + head, false},
		{"no log", "", false},
	} {
		p := git.Dirs{GitDir: t.TempDir(), CommonDir: t.TempDir()}
		for file, content := range map[string]string{p.GitDir + "/logs/HEAD": entry, p.CommonDir + "/logs/refs/heads/a/b": x.log} {
			if content == "" {
				continue
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := onlyHead(p, head, "a/b"); got != x.want {
			t.Errorf("%s: %v", x.name, got)
		}
		if !onlyHead(p, head, "") {
			t.Errorf("%s: it counts although the branch stays", x.name)
		}
	}
}
