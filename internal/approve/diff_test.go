//go:build unix

package approve

import (
	"os"
	"path/filepath"
	"testing"
)

// Links in directories that a command is given count where it follows them, and where it
// does not they do not.
func TestCommandsOnDirectoriesWithLinks(t *testing.T) {
	y := newYard(t)
	y.root = filepath.Join(y.base, "data/workspaces/pairs")
	for name, content := range map[string]string{
		"a": "a\n", "b": "b\n", "one/a": "1\n", "one/sub/x": "1\n", "two/a": "2\n", "two/sub/x": "2\n",
		"plain/a": "p\n", "plain/b": "p\n", "has/.git": "gitdir: x\n", "also/.git": "gitdir: y\n", "planted/b": "b\n", "empty/.keep": "",
	} {
		y.ok(os.MkdirAll(filepath.Join(y.root, filepath.Dir(name)), 0o700))
		y.ok(os.WriteFile(filepath.Join(y.root, name), []byte(content), 0o600))
	}
	for name, target := range map[string]string{"planted/a": "/etc/passwd", "near/a": "../a", "linked": "planted", "lb": "b", "private/a": "../../../middleman.db"} {
		y.ok(os.MkdirAll(filepath.Join(y.root, filepath.Dir(name)), 0o700))
		y.ok(os.Symlink(target, filepath.Join(y.root, name)))
	}
	y.ok(os.MkdirAll(filepath.Join(y.root, ".git/hooks"), 0o700))
	for _, x := range []struct {
		want     Decision
		rule     string
		commands []string
	}{
		{Ask, "outside", []string{
			"diff a planted", "diff planted a", "diff -u plain planted", "diff planted plain", "diff -q one linked", "diff linked a", "diff -N empty planted", "diff -uN planted empty",
			"diff ./planted/ ../pairs/a", "cat planted/a", "cmp a planted/a", "cp planted/a plain", "cp a planted", "mv a planted",
		}},
		{Deny, "middleman", []string{"diff a private", "diff plain private"}},
		{Ask, "git-directory", []string{"diff has also", "diff -N has plain", "rg --hidden x", "rg -g '*' x", "rg -g '**' x .", "rg -ng '.g*' x", "rg -g '{x,.git/**}' x", "grep -r x"}},
		{Ask, "unknown-option", []string{
			"diff -r one planted", "diff --from-file=a planted", "diff a", "diff a b plain", "ls -L planted", "du -L planted", "find -L planted", "find planted -follow",
			"stat -L planted/b", "file -L planted", "wc --files0-from=a", "md5sum -c a", "grep -R x planted", "grep -d recurse x planted", "grep -f a b", "rg -L x", "tree -l planted", "cp -r planted plain",
		}},
		{Ask, "unknown-command", []string{"sort -m a", "comm a b", "tar cf x planted", "zip x planted", "paste a b"}},
		{Ask, "git-option", []string{"git diff --no-index a planted", "git grep --no-index x planted", "git grep --untracked x"}},
		{Allow, "shell-files", []string{
			"diff a b", "diff -u a lb", "diff new a", "diff -U 3 one two", "diff one plain", "diff -N one two", "diff a plain", "diff near two", "diff a near", "diff empty planted",
			"diff has plain", "diff b planted", "diff . one", "diff - a",
			"ls -l planted", "ls -R", "du -sh planted", "find planted -type l", "tree planted", "grep x planted", "cmp a b", "cp b planted", "cat planted/b", "rg x planted", "rg -g '*.go' x", "rg -g '!.git' x", "rg -g 'src/**' x",
			"grep -rn --exclude-dir=.git x .", "grep -r x planted",
		}},
	} {
		for _, command := range x.commands {
			if v := y.place().Decide(Request{Tool: "Bash", Arguments: y.given("command", command), Directory: y.root}); v.Decision != x.want || v.Rule != x.rule {
				t.Errorf("%s: %+v, want %s by %s", command, v, x.want, x.rule)
			}
		}
	}
}
