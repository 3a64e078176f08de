//go:build unix

package approve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"mvdan.cc/sh/v3/syntax"
)

// yard is a worktree among what must not be reached from it.
type yard struct {
	t                       *testing.T
	base, root, temp, other string
}

func newYard(t *testing.T) *yard {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	y := &yard{t: t, base: base, root: filepath.Join(base, "data/workspaces/mine"), temp: filepath.Join(base, "temp"), other: filepath.Join(base, "data/workspaces/other")}
	for path, content := range map[string]string{
		"data/workspaces/mine/.git": "gitdir: ../../../repo/.git/worktrees/mine\n", "data/workspaces/mine/main.go": "package main\n",
		"data/workspaces/mine/src/a.txt": "a\n", "data/workspaces/mine/.github/ci.yml": "x\n", "data/workspaces/mine/copilot-instructions.md": "x\n", "data/workspaces/mine/.claude/settings.json": "{}\n",
		"data/workspaces/mine/nested/.git/config": "[core]\n", "data/workspaces/mine/bare/HEAD": "x", "data/workspaces/mine/bare/objects/x": "", "data/workspaces/mine/bare/refs/x": "",
		"data/workspaces/other/b.txt": "b\n", "data/middleman.db": "secret", "data/sessions/s1/owner.json": "secret",
		"home/.ssh/id": "secret", "home/.bashrc": "x", "repo/.git/config": "[core]\n", "repo/.git/hooks/pre-commit": "x", "repo/x.go": "x", "temp/t.txt": "t",
	} {
		y.ok(os.MkdirAll(filepath.Dir(filepath.Join(base, path)), 0o700))
		y.ok(os.WriteFile(filepath.Join(base, path), []byte(content), 0o600))
	}
	for name, target := range map[string]string{
		"out": "../../../home", "bashrc": "../../../home/.bashrc", "dangling": "../../../home/new", "loop": "loop", "hooks": "../../../repo/.git/hooks",
		"in": "src", "proc": "/proc/self/cwd", "absolute": "/etc/passwd", "src/up": "..",
	} {
		y.ok(os.Symlink(target, filepath.Join(y.root, name)))
	}
	y.ok(os.Link(filepath.Join(base, "home/.bashrc"), filepath.Join(y.root, "hard")))
	y.ok(syscall.Mkfifo(filepath.Join(y.root, "pipe"), 0o600))
	return y
}

func (y *yard) ok(err error) {
	if y.t.Helper(); err != nil {
		y.t.Fatal(err)
	}
}

func (y *yard) place() Place {
	return Place{
		Root: y.root, Home: filepath.Join(y.base, "home"), Temp: []string{y.temp}, Private: []string{filepath.Join(y.base, "data")},
		Others: []string{filepath.Join(y.base, "data/workspaces"), y.other, filepath.Join(y.base, "repo")}, Git: func() error { return nil }, Linked: func() ([]string, error) { return nil, nil },
	}
}

// given returns the arguments of a tool as JSON. BASE stands for the yard.
func (y *yard) given(name, value string) string {
	raw, err := json.Marshal(map[string]string{name: strings.ReplaceAll(value, "BASE", y.base)})
	y.ok(err)
	return string(raw)
}

var fileRequests = []struct {
	tool, path string
	want       Decision
	rule       string
}{
	{"Read", "main.go", Allow, "worktree"},
	{"Read", "BASE/data/workspaces/mine/main.go", Allow, "worktree"},
	{"Write", "new/deep/file.go", Allow, "worktree"},
	{"Edit", "in/a.txt", Allow, "worktree"},
	{"Edit", "src/../main.go", Allow, "worktree"},
	{"Write", "BASE/temp/x", Allow, "temp"},
	{"Read", ".github/ci.yml", Allow, "worktree"},
	{"Write", "../other/b.txt", Ask, "other-worktree"},
	{"Read", "BASE/data/workspaces/other/b.txt", Ask, "other-worktree"},
	{"Write", "BASE/data/workspaces/later/b.txt", Ask, "other-worktree"},
	{"Read", "BASE/repo/x.go", Ask, "other-worktree"},
	{"Write", "BASE/repo/.git/hooks/post-commit", Ask, "other-worktree"},
	{"Read", "/etc/passwd", Ask, "outside"},
	{"Read", "../../../home/.ssh/id", Ask, "outside"},
	{"Read", "~/.ssh/id", Ask, "home"},
	{"Read", "~root/x", Ask, "home"},
	{"Write", "out/new", Ask, "outside"},
	{"Write", "bashrc", Ask, "outside"},
	{"Write", "dangling", Ask, "outside"},
	{"Read", "absolute", Ask, "outside"},
	{"Read", "loop", Ask, "unresolved"},
	{"Read", "proc/x", Ask, "unresolved"},
	{"Write", "/dev/fd/3", Ask, "unresolved"},
	{"Write", "missing/../../other/b.txt", Ask, "unresolved"},
	{"Write", "main.go/x", Ask, "unresolved"},
	// By the names it is the worktree's; by the link it is not, and the other way round.
	{"Write", "out/../x", Ask, "outside"},
	{"Write", "src/up/../other/b.txt", Ask, "other-worktree"},
	{"Write", "hooks/post-commit", Ask, "other-worktree"},
	{"Write", "hard", Ask, "hard-link"},
	{"Read", "hard", Allow, "worktree"},
	{"Write", "pipe", Ask, "special-file"},
	{"Read", "pipe", Ask, "special-file"},
	{"Write", ".", Ask, "whole-directory"},
	{"Write", ".git", Ask, "git-directory"},
	{"Write", ".GIT/config", Ask, "git-directory"},
	{"Write", "sub/.git/hooks/pre-commit", Ask, "git-directory"},
	{"Write", "sub/.git /config", Ask, "git-directory"},
	{"Write", "sub/.g\u200cit/config", Ask, "git-directory"},
	{"Write", "git~1/config", Ask, "git-directory"},
	{"Write", ".git::$INDEX_ALLOCATION/config", Ask, "git-directory"},
	{"Read", "nested/.git/config", Ask, "git-directory"},
	{"Write", ".claude/settings.json", Ask, "settings"},
	{"Read", ".claude/settings.json", Allow, "worktree"},
	{"Write", "sub/.Claude/settings.local.json", Ask, "settings"},
	{"Write", ".github/hooks/x.json", Ask, "settings"},
	{"Write", ".github/workflows/x.yml", Allow, "worktree"},
	{"Write", ".middleman.toml", Ask, "settings"},
	{"Write", ".husky/pre-commit", Ask, "settings"},
	{"Write", ".hg/hgrc", Ask, "settings"},
	{"Write", ".devcontainer/devcontainer.json", Ask, "settings"},
	{"Write", ".zed/settings.json", Ask, "settings"},
	{"Write", ".vimrc", Ask, "settings"},
	{"Write", "sub/.exrc", Ask, "settings"},
	{"Write", ".nvim.lua", Ask, "settings"},
	{"Write", ".dir-locals.el", Ask, "settings"},
	{"Write", "mise.toml", Ask, "settings"},
	{"Write", ".mise.local.toml", Ask, "settings"},
	{"Write", ".config/mise/config.toml", Ask, "settings"},
	{"Write", ".tool-versions", Ask, "settings"},
	{"Write", ".gdbinit", Ask, "settings"},
	{"Write", ".Rprofile", Ask, "settings"},
	{"Write", "CLAUDE.md", Ask, "settings"},
	{"Write", "sub/AGENTS.md", Ask, "settings"},
	{"Read", "CLAUDE.md", Allow, "worktree"},
	{"Write", ".github/copilot-instructions.md", Ask, "settings"},
	{"Write", "x.code-workspace", Ask, "settings"},
	{"Write", ".lefthook-local.yml", Ask, "settings"},
	{"Write", ".envrc\u200b", Ask, "bad-path"},
	{"Write", ".envrc\ufe0f", Ask, "bad-path"},
	{"Write", ".envrc\u3164", Ask, "bad-path"},
	{"Write", ".env\u00adrc", Ask, "bad-path"},
	{"Write", "a\u00a0b", Ask, "bad-path"},
	{"Read", "a\u202eb", Ask, "bad-path"},
	{"Write", "Makefile", Allow, "worktree"},
	{"Write", "justfile", Allow, "worktree"},
	{"Write", "package.json", Allow, "worktree"},
	{"Write", ".gitattributes", Allow, "worktree"},
	{"Write", ".editorconfig", Allow, "worktree"},
	{"Write", "grüße e\u0301.txt", Allow, "worktree"},
	{"Read", "BASE/data/middleman.db", Deny, "middleman"},
	{"Read", "../../sessions/s1/owner.json", Deny, "middleman"},
	{"Write", "BASE/data/serve.json", Deny, "middleman"},
	{"Read", "", Ask, "bad-arguments"},
	{"Read", "a\x00b", Ask, "bad-path"},
}

func TestFiles(t *testing.T) {
	y := newYard(t)
	for _, x := range fileRequests {
		args := strings.TrimSuffix(y.given("file_path", x.path), "}") + map[string]string{"Write": `,"content":""}`, "Edit": `,"old_string":"","new_string":""}`, "Read": "}"}[x.tool]
		v := y.place().Decide(Request{Tool: x.tool, Arguments: args, Directory: y.root})
		if v.Decision != x.want || v.Rule != x.rule || v.Reason == "" || strings.Contains(v.Reason, "\n") {
			t.Errorf("%s %q: %+v, want %s by %s", x.tool, x.path, v, x.want, x.rule)
		}
	}
}

var shellRequests = []struct {
	command string
	want    Decision
	rule    string
}{
	{"ls", Allow, "shell-files"},
	{"ls -la src", Allow, "shell-files"},
	{"cat 'main.go' \"src/a.txt\"", Allow, "shell-files"},
	{"rm src/a.txt", Allow, "shell-files"},
	{"mkdir -p a/b", Allow, "shell-files"},
	{"cp main.go src", Allow, "shell-files"},
	{"grep -rn package .", Allow, "shell-files"},
	{"find . -name '*.go' -type f", Allow, "shell-files"},
	{"sed -n 1,20p main.go", Allow, "shell-files"},
	{"head -n 5 main.go 2>/dev/null", Allow, "shell-files"},
	{"echo hello > src/new 2>&1", Allow, "shell-text"},
	{"cat BASE/temp/t.txt", Allow, "shell-files"},
	{"echo x > ../other/b.txt", Ask, "other-worktree"},
	{"echo x >> bashrc", Ask, "outside"},
	{"echo x > .git", Ask, "git-directory"},
	{"git add BASE/temp/t.txt", Ask, "git-argument"},
	{"echo x > sub/.git/hooks/pre-commit", Ask, "git-directory"},
	{"cat < /etc/shadow", Ask, "outside"},
	{"cat /etc/passwd", Ask, "outside"},
	{"l\x00s", Ask, "shell-syntax"},
	{"ls\rid", Ask, "shell-syntax"},
	{"ls\r", Ask, "shell-syntax"},
	{"ls 'a\x1b[2J'", Ask, "shell-syntax"},
	{"ls\u009b", Ask, "shell-syntax"},
	{"ls\tsrc\n", Allow, "shell-files"},
	{"cat BASE/data/middleman.db", Deny, "middleman"},
	{"cat ~/.ssh/id", Ask, "shell-syntax"},
	{"rm -rf src", Ask, "removes-directories"},
	{"rm ../other/b.txt", Ask, "other-worktree"},
	{"cp BASE/home/.ssh/id .", Ask, "outside"},
	{"cp main.go out", Ask, "outside"},
	{"mv src/a.txt .git", Ask, "git-directory"},
	{"cp nested/.git/config .", Ask, "git-directory"},
	{"mv nested src", Ask, "copies-directories"},
	{"find . -delete", Ask, "unknown-option"},
	{"find . -exec id {} +", Ask, "shell-syntax"},
	{"find . -exec id ';'", Ask, "unknown-option"},
	{"find / -name x", Ask, "outside"},
	{"rg --pre=./x pattern", Ask, "unknown-option"},
	{"sed -n '1p;w out' main.go", Ask, "unknown-option"},
	{"sed -i s/a/b/ main.go", Ask, "unknown-option"},
	{"head -n -c5 /etc/passwd", Ask, "unknown-option"},
	{"ls && ls", Ask, "shell-syntax"},
	{"ls; id", Ask, "shell-syntax"},
	{"ls\nid", Ask, "shell-syntax"},
	{"ls | sh", Ask, "shell-syntax"},
	{"ls &", Ask, "shell-syntax"},
	{"! ls", Ask, "shell-syntax"},
	{"(ls)", Ask, "shell-syntax"},
	{"ls $(id)", Ask, "shell-syntax"},
	{"ls `id`", Ask, "shell-syntax"},
	{"ls \"$HOME\"", Ask, "shell-syntax"},
	{"ls <(id)", Ask, "shell-syntax"},
	{"cat <<EOF\nx\nEOF", Ask, "shell-syntax"},
	{"ls *(e:id:)", Ask, "shell-syntax"},
	{"ls src/*", Ask, "shell-syntax"},
	{"ls {a,b}", Ask, "shell-syntax"},
	{"ls =id", Ask, "shell-syntax"},
	{"ls $'\\x2f'", Ask, "shell-syntax"},
	{"ls a\\ b", Ask, "shell-syntax"},
	{"ls 'a''b'", Ask, "shell-syntax"},
	{"ls # comment", Ask, "shell-syntax"},
	{"LD_PRELOAD=./x.so ls", Ask, "shell-syntax"},
	{"ls >&3", Ask, "shell-syntax"},
	{"ls 'unclosed", Ask, "shell-syntax"},
	{"", Ask, "shell-syntax"},
	{"echo \"\x1b[2J\"", Ask, "shell-syntax"},
	{"make test", Ask, "unknown-command"},
	{"./ls", Ask, "unknown-command"},
	{"/bin/ls", Ask, "unknown-command"},
	{"sudo ls", Ask, "unknown-command"},
	{"middleman approve x", Ask, "unknown-command"},
	{"rg x", Allow, "shell-files"},
	{"rg -tgo -g '*.go' x src", Allow, "shell-files"},
	{"rg -g '!vendor' x", Allow, "shell-files"},
	{"cd src", Allow, "shell-files"},
	{"cd ../other", Ask, "other-worktree"},

	{"git status", Allow, "git"},
	{"git status -sb", Allow, "git"},
	{"git log --oneline -5 HEAD..main", Allow, "git"},
	{"git diff --stat src/a.txt", Allow, "git"},
	{"git show HEAD:main.go", Allow, "git"},
	{"git add -A", Allow, "git"},
	{"git add main.go", Allow, "git"},
	{"git commit -am 'a message; with (signs)'", Allow, "git"},
	{"git commit -m \"two\nlines\"", Allow, "git"},
	{"git -C src status", Allow, "git"},
	{"git switch -c topic", Allow, "git"},
	{"git stash push -m x", Allow, "git"},
	{"git restore --staged main.go", Allow, "git"},
	{"git -c core.hooksPath=x commit -m x", Ask, "git-option"},
	{"git -c alias.status=!id status", Ask, "shell-syntax"},
	{"git -c 'alias.status=!id' status", Ask, "git-option"},
	{"git --exec-path=. status", Ask, "git-option"},
	{"git --git-dir=x status", Ask, "git-option"},
	{"git --work-tree=/ add -A", Ask, "git-option"},
	{"git --config-env=core.pager=X log", Ask, "git-option"},
	{"git -p log", Ask, "git-option"},
	{"git -C ../other status", Ask, "other-worktree"},
	{"git -C nested status", Ask, "nested-repository"},
	{"git -C bare status", Ask, "nested-repository"},
	{"git commit", Ask, "git-option"},
	{"git commit -m x --no-verify", Ask, "git-option"},
	{"git log --format --output=x", Ask, "git-option"},
	{"git log --format=%G?", Ask, "shell-syntax"},
	{"git log '--format=%G?'", Ask, "git-option"},
	{"git diff --output=x", Ask, "git-option"},
	{"git diff --ext-diff", Ask, "git-option"},
	{"git diff --no-index /etc/passwd main.go", Ask, "git-option"},
	{"git diff /etc/passwd /etc/group", Ask, "outside"},
	{"git grep -Oless x", Ask, "git-option"},
	{"git rebase --exec id HEAD", Ask, "git-command"},
	{"git fetch --upload-pack=./x origin", Ask, "git-command"},
	{"git clone ext::id", Ask, "git-command"},
	{"git show ext::id", Ask, "git-argument"},
	{"git push", Ask, "git-command"},
	{"git config core.fsmonitor ./x", Ask, "git-command"},
	{"git reset", Allow, "git"},
	{"git reset HEAD main.go", Allow, "git"},
	{"git reset -q -- src/a.txt", Allow, "git"},
	{"git reset main", Ask, "git-argument"},
	{"git reset --mixed main", Ask, "git-argument"},
	{"git reset main --", Ask, "git-argument"},
	{"git reset --soft v1", Ask, "git-argument"},
	{"git reset bee7a23", Ask, "git-argument"},
	{"git reset ORIG_HEAD", Ask, "git-argument"},
	{"git reset HEAD HEAD", Ask, "git-argument"},
	{"git reset --hard", Ask, "git-option"},
	{"git clean -fdx", Ask, "git-command"},
	{"git checkout -- main.go", Ask, "git-option"},
	{"git restore main.go", Ask, "git-option"},
	{"git branch -D main", Ask, "git-option"},
	{"git stash drop", Ask, "git-command"},
	{"git worktree add /tmp/x", Ask, "git-command"},
	{"git lg", Ask, "git-command"},
	{"git grep -n package", Allow, "git"},
	{"git grep -n package -- src", Allow, "git"},
	{"git add ../other/b.txt", Ask, "other-worktree"},
	{"git mv main.go sub/.git/hooks/pre-commit", Ask, "git-directory"},
	{"git mv main.go src", Allow, "git"},
	{"git mv main.go .envrc", Ask, "settings"},
	{"git mv -- main.go .claude", Ask, "settings"},
	{"git mv copilot-instructions.md .github", Ask, "settings"},
	{"git mv src .github/hooks", Ask, "copies-directories"},
	{"git mv src tools", Ask, "copies-directories"},
	{"git rm src/a.txt", Allow, "git"},
	{"git rm CLAUDE.md", Ask, "settings"},
	{"git rm 'C*'", Ask, "git-argument"},
	{"git rm -r .", Ask, "whole-directory"},
	{"git stash pop", Ask, "git-command"},
	{"git stash apply", Allow, "git"},
	{"git for-each-ref '--format=%(signature:grade)'", Ask, "git-option"},
	{"git", Ask, "git-command"},
}

func TestShell(t *testing.T) {
	y := newYard(t)
	for _, x := range shellRequests {
		v := y.place().Decide(Request{Tool: "Bash", Arguments: y.given("command", x.command), Directory: y.root})
		if v.Decision != x.want || v.Rule != x.rule || v.Reason == "" {
			t.Errorf("%q: %+v, want %s by %s", x.command, v, x.want, x.rule)
		}
	}
	if n := len(fileRequests) + len(shellRequests); n < 150 {
		t.Errorf("%d requests", n)
	}
}

// Arguments that cannot be read, tools that nobody knows and places that are not
// what they should be ask.
func TestErrorsAsk(t *testing.T) {
	y := newYard(t)
	long := strings.Repeat("a", maxCommand)
	for _, x := range []struct{ name, tool, args, dir, rule string }{
		{"no JSON", "Read", `{"file_path":`, y.root, "bad-arguments"},
		{"a list", "Read", `["main.go"]`, y.root, "bad-arguments"},
		{"more after it", "Read", `{"file_path":"main.go"} {}`, y.root, "bad-arguments"},
		{"twice", "Read", `{"file_path":"main.go","file_path":"/etc/passwd"}`, y.root, "bad-arguments"},
		{"another case", "Read", `{"file_path":"main.go","FILE_PATH":"/etc/passwd"}`, y.root, "bad-arguments"},
		{"no string", "Read", `{"file_path":["main.go"]}`, y.root, "bad-arguments"},
		{"unknown argument", "Write", `{"file_path":"main.go","content":"","mode":"0777"}`, y.root, "bad-arguments"},
		{"no argument", "Read", `{}`, y.root, "bad-arguments"},
		{"unknown tool", "WebFetch", `{"url":"https://example.org"}`, y.root, "unknown-tool"},
		{"a server's tool", "mcp__files__write", `{"path":"main.go"}`, y.root, "unknown-tool"},
		{"another case of a tool", "BASH", `{"command":"ls"}`, y.root, "unknown-tool"},
		{"relative directory", "Read", `{"file_path":"main.go"}`, "src", "no-directory"},
		{"no directory", "Read", `{"file_path":"main.go"}`, "", "no-directory"},
		{"elsewhere", "Bash", `{"command":"ls"}`, y.other, "other-worktree"},
		{"git elsewhere", "Bash", `{"command":"git status"}`, y.other, "other-worktree"},
		{"in a nested repository", "Bash", `{"command":"git status"}`, filepath.Join(y.root, "nested"), "nested-repository"},
		{"in a directory that is gone", "Bash", `{"command":"git status"}`, filepath.Join(y.root, "gone"), "unresolved"},
		{"a long command", "Bash", `{"command":"echo ` + long + `"}`, y.root, "long-command"},
		{"network", "Bash", `{"command":"ls","description":"network-access example.org"}`, y.root, "network"},
		{"a pattern", "Glob", `{"pattern":"../../**"}`, y.root, "pattern"},
		{"a pattern in braces", "Glob", `{"pattern":"{a,/etc}/*"}`, y.root, "pattern"},
		{"a pattern through a link", "Glob", `{"pattern":"out/.ssh/*"}`, y.root, "outside"},
		{"a pattern through a link alone", "Glob", `{"pattern":"out/**"}`, y.root, "outside"},
		{"a pattern that is a link", "Glob", `{"pattern":"absolute"}`, y.root, "outside"},
		{"a pattern through a link below a path", "Glob", `{"path":"src","pattern":"up/out/*"}`, y.root, "outside"},
		{"a pattern through a link to a repository", "Glob", `{"pattern":"hooks/*"}`, y.root, "other-worktree"},
		{"a pattern through a link in braces", "Glob", `{"pattern":"{src,out/.ssh}/*"}`, y.root, "outside"},
		{"a pattern through a link in braces in braces", "Glob", `{"pattern":"{src,{in,o{ut,x}}}/*"}`, y.root, "outside"},
		{"a pattern through what cannot be followed", "Glob", `{"pattern":"loop/*"}`, y.root, "unresolved"},
		{"too many braces", "Glob", `{"pattern":"` + strings.Repeat("{a,b}", 7) + `"}`, y.root, "pattern"},
		{"a brace that does not end", "Glob", `{"pattern":"{a,b/*"}`, y.root, "pattern"},
		{"an escape in a pattern", "Glob", `{"pattern":"o\\ut/*"}`, y.root, "pattern"},
		{"a control character in a pattern", "Glob", `{"pattern":"src/\u0000*"}`, y.root, "pattern"},
		{"a pattern of git's directory", "Glob", `{"pattern":".git/**"}`, y.root, "git-directory"},
		{"a pattern of git's directory in capitals", "Glob", `{"pattern":".GIT/hooks/*"}`, y.root, "git-directory"},
		{"a pattern of another git directory", "Glob", `{"pattern":"nested/.git/*"}`, y.root, "git-directory"},
		{"a pattern of any git directory", "Glob", `{"pattern":"**/.git/**"}`, y.root, "git-directory"},
		{"a wildcard for git's directory", "Glob", `{"pattern":".g*/**"}`, y.root, "git-directory"},
		{"a class for git's directory", "Glob", `{"pattern":"[!a]git/**"}`, y.root, "git-directory"},
		{"a choice for git's directory", "Glob", `{"pattern":"@(.git|x)/**"}`, y.root, "git-directory"},
		{"Grep's pattern through a link", "Grep", `{"pattern":"x","glob":"out/.ssh/*"}`, y.root, "outside"},
		{"Grep's pattern of git's directory", "Grep", `{"pattern":"x","glob":".git/**"}`, y.root, "git-directory"},
		{"Grep through a link", "Grep", `{"pattern":"x","path":"out"}`, y.root, "outside"},
		{"LS through a link", "LS", `{"path":"out"}`, y.root, "outside"},
		{"LS of git's directory", "LS", `{"path":".git"}`, y.root, "git-directory"},
		{"NotebookRead through a link", "NotebookRead", `{"notebook_path":"out/x.ipynb"}`, y.root, "outside"},
		{"NotebookEdit through a link", "NotebookEdit", `{"notebook_path":"out/x.ipynb","new_source":""}`, y.root, "outside"},
		{"MultiEdit through a link", "MultiEdit", `{"file_path":"bashrc","edits":[]}`, y.root, "outside"},
		{"view through a link", "view", `{"path":"out"}`, y.root, "outside"},
		{"a search elsewhere", "Grep", `{"pattern":"x","path":"/etc"}`, y.root, "outside"},
		{"a patch elsewhere", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** Update File: ../other/b.txt\n*** End Patch"}`, y.root, "other-worktree"},
		{"a patch that moves", "apply_patch", `{"command":"*** Begin Patch\n*** Update File: main.go\n*** Move to: sub/.git/hooks/x\n*** End Patch"}`, y.root, "git-directory"},
		{"a patch with another verb", "apply_patch", `{"command":"*** Begin Patch\n*** Run File: a\n*** End Patch"}`, y.root, "bad-arguments"},
		{"a patch with blanks before a header", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n *** Add File: ../other/b.txt\n+x\n*** End Patch"}`, y.root, "other-worktree"},
		{"a patch with a tab before a header", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n\t*** Delete File: /etc/motd\n*** End Patch"}`, y.root, "outside"},
		{"a patch with half a header", "apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n ***Add File: b\n*** End Patch"}`, y.root, "bad-arguments"},
		{"an empty patch", "apply_patch", `{"command":"*** Begin Patch\n*** End Patch"}`, y.root, "bad-arguments"},
		{"a wildcard for a link", "Glob", `{"pattern":"*/*.go"}`, y.root, "other-worktree"},
		{"a path in an edit", "MultiEdit", `{"file_path":"main.go","edits":[{"old_string":"a","new_string":"b","file_path":"/etc/passwd"}]}`, y.root, "outside"},
		{"a path deep in an edit", "MultiEdit", `{"file_path":"main.go","edits":[{"x":[{"Path":"../other/b.txt"}]}]}`, y.root, "other-worktree"},
		{"a path twice in an edit", "MultiEdit", `{"file_path":"main.go","edits":[{"path":"main.go","path":"/etc/passwd"}]}`, y.root, "bad-arguments"},
		{"a path in an edit that is no string", "MultiEdit", `{"file_path":"main.go","edits":[{"notebook_path":["/etc/passwd"]}]}`, y.root, "bad-arguments"},
		{"edits in one another", "MultiEdit", `{"file_path":"main.go","edits":` + strings.Repeat("[", 100) + strings.Repeat("]", 100) + `}`, y.root, "bad-arguments"},
		{"content that is no text", "Write", `{"file_path":"main.go","content":{"a":1}}`, y.root, "bad-arguments"},
		{"no content", "Write", `{"file_path":"main.go"}`, y.root, "bad-arguments"},
		{"an edit of nothing", "Edit", `{"file_path":"main.go"}`, y.root, "bad-arguments"},
		{"an edit that is no text", "Edit", `{"file_path":"main.go","old_string":5,"new_string":["x"]}`, y.root, "bad-arguments"},
		{"a time that is text", "Bash", `{"command":"ls","timeout":"5"}`, y.root, "bad-arguments"},
		{"a truth value that is text", "Edit", `{"file_path":"main.go","old_string":"a","new_string":"b","replace_all":"yes"}`, y.root, "bad-arguments"},
		{"edits that are no list", "MultiEdit", `{"file_path":"main.go","edits":{"old_string":"a"}}`, y.root, "bad-arguments"},
		{"another agent's settings", "Write", `{"file_path":".pi/extensions/x.ts","content":""}`, y.root, "settings"},
		{"what middleman copies", "Write", `{"file_path":".worktreeinclude","content":""}`, y.root, "settings"},
		{"half a character in content", "Write", `{"file_path":"main.go","content":"\ud800"}`, y.root, "bad-arguments"},
		{"the other half", "Read", `{"file_path":"a\udc00"}`, y.root, "bad-arguments"},
		{"halves in the wrong order", "Read", `{"file_path":"a\udc00\ud83d"}`, y.root, "bad-arguments"},
		{"bytes that are no text", "Read", "{\"file_path\":\"a\xff\"}", y.root, "bad-arguments"},
		{"copilot elsewhere", "edit", `{"path":"/etc/passwd","old_str":"a","new_str":"b"}`, y.root, "outside"},
	} {
		if v := y.place().Decide(Request{Tool: x.tool, Arguments: x.args, Directory: x.dir}); v.Decision != Ask || v.Rule != x.rule {
			t.Errorf("%s: %+v, want ask by %s", x.name, v, x.rule)
		}
	}
	for _, x := range []struct{ tool, args string }{
		{"Glob", `{"pattern":"**/*.{ts,tsx}"}`}, {"Glob", `{"pattern":"in/*.txt"}`}, {"Glob", `{"path":"src","pattern":"{a,b}.txt"}`}, {"Glob", `{"pattern":".github/*.yml"}`},
		{"Glob", `{"pattern":"new/**"}`}, {"Glob", `{"pattern":"**/*.go"}`}, {"Glob", `{"pattern":"src/*.go"}`}, {"Grep", `{"pattern":"x","glob":"*.{go,mod}"}`}, {"Grep", `{"pattern":"x","glob":"!vendor/**"}`},
		{"Grep", `{"pattern":"a..b","output_mode":"content","-n":true}`},
		{"apply_patch", `{"command":"*** Begin Patch\n*** Update File: main.go\n@@\n-a\n+*** Add File: /x\n*** End Patch"}`},
		{"edit", `{"path":"main.go","old_str":"a","new_str":"b"}`},
		{"MultiEdit", `{"file_path":"main.go","edits":[{"old_string":"a","new_string":"b"},{"path":"src/a.txt"}]}`},
		{"Write", `{"file_path":"main.go","content":"{\"path\":\"/etc/passwd\"} \ud83d\ude00 \\ud800"}`},
	} {
		if v := y.place().Decide(Request{Tool: x.tool, Arguments: x.args, Directory: y.root}); v.Decision != Allow {
			t.Errorf("%s %s: %+v", x.tool, x.args, v)
		}
	}
}

// While the agent plans, no rule allows anything.
func TestPlanMode(t *testing.T) {
	y := newYard(t)
	r := Request{Tool: "Bash", Arguments: y.given("command", "ls"), Directory: y.root}
	if v := y.place().Decide(r); v.Decision != Allow {
		t.Errorf("without it: %+v", v)
	}
	in := `{"hook_event_name":"PermissionRequest","permission_mode":"plan","agent_id":"a1","cwd":"` + y.root + `","tool_name":"Bash","tool_input":{"command":"ls"}}`
	r, err := ReadHook("claude", strings.NewReader(in))
	if err != nil || !r.Plans || !r.Aside {
		t.Fatalf("the hook is %+v, %v", r, err)
	}
	if v := y.place().Decide(r); v.Decision != Ask || v.Rule != "plan" {
		t.Errorf("in plan mode: %+v", v)
	}
}

// A place that allows too much allows nothing, and git asks where its settings
// would run something.
func TestPlaces(t *testing.T) {
	y := newYard(t)
	read, status := Request{Tool: "Read", Arguments: `{"file_path":"x"}`, Directory: y.root}, Request{Tool: "Bash", Arguments: `{"command":"git status"}`, Directory: y.root}
	list, search := Request{Tool: "Bash", Arguments: `{"command":"ls"}`, Directory: y.root}, Request{Tool: "Bash", Arguments: `{"command":"git grep x"}`, Directory: y.root}
	linked := func(name string) func() ([]string, error) {
		return func() ([]string, error) { return []string{filepath.Join(y.root, name)}, nil }
	}
	for _, path := range []string{y.root + "/src/inner/x", y.root + "/tools/ls", y.root + "/tools/git", y.temp + "/ls"} {
		y.ok(os.MkdirAll(filepath.Dir(path), 0o700))
		y.ok(os.WriteFile(path, []byte("#!/bin/sh\n"), 0o700))
	}
	y.ok(os.Symlink(y.root+"/tools", y.base+"/tools"))
	for _, x := range []struct {
		name   string
		change func(*Place)
		r      Request
		want   Decision
		rule   string
	}{
		{"the home directory", func(p *Place) { p.Root, p.Others, p.Private = y.base, nil, nil }, Request{Tool: "Read", Arguments: read.Arguments, Directory: y.base}, Ask, "wide-root"},
		{"a directory that is gone", func(p *Place) { p.Root = y.base + "/gone" }, read, Ask, "other-worktree"},
		{"no directory", func(p *Place) { p.Root = "" }, read, Ask, "no-directory"},
		{"a link to it", func(p *Place) { y.ok(os.Symlink(y.root, y.base+"/link")); p.Root = y.base + "/link" }, read, Allow, "worktree"},
		{"a workspace in it", func(p *Place) { p.Others = append(p.Others, y.root+"/src") }, Request{Tool: "Read", Arguments: `{"file_path":"src/a.txt"}`, Directory: y.root}, Ask, "other-worktree"},
		{"middleman's own directory in it", func(p *Place) { p.Root, p.Home, p.Others = y.base, "", nil }, Request{Tool: "Read", Arguments: `{"file_path":"data/middleman.db"}`, Directory: y.base}, Deny, "middleman"},
		{"a home in the temporary directory", func(p *Place) { p.Temp = []string{y.base} }, Request{Tool: "Read", Arguments: `{"file_path":"` + y.base + `/home/.ssh/id"}`, Directory: y.root}, Ask, "outside"},
		{"settings that run a program", func(p *Place) { p.Git = func() error { return errors.New("core.fsmonitor is set") } }, status, Ask, "git-settings"},
		{"no repository", func(p *Place) { p.Git = nil }, status, Ask, "git-unknown"},
		{"a search of a directory with a workspace in it", func(p *Place) { p.Others = append(p.Others, y.root+"/src/inner") }, Request{Tool: "Bash", Arguments: `{"command":"grep -rn x ."}`, Directory: y.root}, Ask, "other-worktree"},
		{"a search beside it", func(p *Place) { p.Others = append(p.Others, y.root+"/src/inner") }, Request{Tool: "Bash", Arguments: `{"command":"grep -rn x in/a.txt .github"}`, Directory: y.root}, Allow, "shell-files"},
		{"rg in a directory with a workspace in it", func(p *Place) { p.Others = append(p.Others, y.root+"/src/inner") }, Request{Tool: "Bash", Arguments: `{"command":"rg x"}`, Directory: y.root}, Ask, "other-worktree"},
		{"rg beside it", func(p *Place) { p.Others = append(p.Others, y.root+"/src/inner") }, Request{Tool: "Bash", Arguments: `{"command":"rg x .github main.go"}`, Directory: y.root}, Allow, "shell-files"},
		{"a search of git's directory", func(p *Place) { p.Root = y.root + "/nested" }, Request{Tool: "Bash", Arguments: `{"command":"grep -nr url ."}`, Directory: y.root + "/nested"}, Ask, "git-directory"},
		{"another search of it", func(p *Place) { p.Root = y.root + "/nested" }, Request{Tool: "Bash", Arguments: `{"command":"rg --hidden url"}`, Directory: y.root + "/nested"}, Ask, "git-directory"},
		{"a search without it", func(p *Place) { p.Root = y.root + "/nested" }, Request{Tool: "Bash", Arguments: `{"command":"grep -r --exclude-dir=.git url ."}`, Directory: y.root + "/nested"}, Allow, "shell-files"},
		{"a program of the worktree", func(p *Place) { p.Path = y.root + "/tools:/usr/bin:/bin" }, list, Ask, "own-program"},
		{"git of the worktree", func(p *Place) { p.Path = "./tools:/usr/bin:/bin" }, status, Ask, "own-program"},
		{"a program behind a link", func(p *Place) { p.Path = y.base + "/tools:/usr/bin:/bin" }, list, Ask, "own-program"},
		{"a temporary program", func(p *Place) { p.Path = y.temp + ":/usr/bin:/bin" }, list, Ask, "own-program"},
		{"a program of the worktree that comes too late", func(p *Place) { p.Path = "/usr/bin:/bin:" + y.root + "/tools" }, list, Allow, "shell-files"},
		{"git's search behind a link", func(p *Place) { p.Linked = linked("out") }, search, Ask, "outside"},
		{"git's search behind a link inside", func(p *Place) { p.Linked = linked("in") }, search, Allow, "git"},
		{"git's search of what cannot be listed", func(p *Place) { p.Linked = func() ([]string, error) { return nil, errors.New("no index") } }, search, Ask, "git-settings"},
		{"git's search of what is not known", func(p *Place) { p.Linked = nil }, search, Ask, "git-unknown"},
		{"another command of git's beside a link", func(p *Place) { p.Linked = linked("out") }, status, Allow, "git"},
		{"a bare repository around", func(p *Place) { p.Root = y.root + "/bare" }, Request{Tool: "Bash", Arguments: status.Arguments, Directory: y.root + "/bare"}, Ask, "nested-repository"},
	} {
		p := y.place()
		x.change(&p)
		if v := p.Decide(x.r); v.Decision != x.want || v.Rule != x.rule {
			t.Errorf("%s: %+v, want %s by %s", x.name, v, x.want, x.rule)
		}
	}
}

// The page names every rule.
func TestRulesAreDescribed(t *testing.T) {
	page, err := os.ReadFile("../../docs/approvals.md")
	if err != nil {
		t.Fatal(err)
	}
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, path := range sources {
		text, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(path, "_test.go") {
			continue
		}
		for _, m := range regexp.MustCompile(`(?:ask|allow)\("([a-z-]+)"|Verdict\{Deny, "([a-z-]+)"`).FindAllStringSubmatch(string(text), -1) {
			if found++; !strings.Contains(string(page), "`"+m[1]+m[2]+"`") {
				t.Errorf("%s: the rule %s%s is not in docs/approvals.md", path, m[1], m[2])
			}
		}
	}
	if found < 40 {
		t.Errorf("%d rules found", found)
	}
}

func TestHooks(t *testing.T) {
	claude := `{"hook_event_name":"PermissionRequest","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"},"session_id":"x","permission_suggestions":[]}`
	for _, x := range []struct{ agent, in, want string }{
		{"claude", claude, "Bash"},
		{"codex", claude, "Bash"},
		{"copilot", `{"timestamp":1,"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"ls\"}"}`, "bash"},
		{"copilot", `{"timestamp":1,"cwd":"/w","toolName":"bash","toolInput":{"command":"ls"}}`, "bash"},
		{"gemini", claude, ""},
		{"nobody", claude, ""},
		{"claude", strings.Replace(claude, "PermissionRequest", "PreToolUse", 1), ""},
		{"claude", strings.Replace(claude, `"/w"`, `"w"`, 1), ""},
		{"claude", strings.Replace(claude, `"Bash"`, `""`, 1), ""},
		{"claude", strings.Replace(claude, `"Bash"`, `"Ba\u001bsh"`, 1), ""},
		{"claude", strings.Replace(claude, `{"command":"ls"}`, `"ls"`, 1), ""},
		{"claude", strings.Replace(claude, `"cwd"`, `"tool_name":"Read","cwd"`, 1), ""},
		{"claude", strings.Replace(claude, `"cwd"`, `"Tool_Name":"Read","cwd"`, 1), ""},
		{"claude", strings.Replace(claude, `"cwd"`, `"CWD":"/","cwd"`, 1), ""},
		{"claude", strings.Replace(claude, `"cwd"`, `"tool_ınput":{},"Tool_Input":{},"cwd"`, 1), ""},
		{"copilot", `{"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"ls\"}","toolargs":"{}"}`, ""},
		{"copilot", `{"cwd":"/w","toolName":"bash","toolArgs":"{\"command\":\"\\ud800\"}"}`, ""},
		{"claude", strings.Replace(claude, `"ls"`, `"\ud800"`, 1), ""},
		{"claude", strings.Replace(claude, `"/w"`, `"/w\udc00"`, 1), ""},
		{"claude", strings.Replace(claude, `"/w"`, "\"/w\xff\"", 1), ""},
		{"claude", claude[:40], ""},
		{"claude", "", ""},
		{"claude", "null", ""},
		{"claude", claude + "x", ""},
		{"claude", strings.Replace(claude, "ls", strings.Repeat("a", maxArguments), 1), ""},
		{"claude", strings.Replace(claude, "ls", strings.Repeat("a", maxHook), 1), ""},
	} {
		r, err := ReadHook(x.agent, strings.NewReader(x.in))
		if r.Tool != x.want || (err == nil) != (x.want != "") || x.want != "" && r.Arguments != `{"command":"ls"}` {
			t.Errorf("%s %.80s: %+v, %v", x.agent, x.in, r, err)
		}
	}
	for _, x := range []struct {
		agent string
		d     Decision
		want  string
	}{
		{"claude", Allow, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"allow"}}}`},
		{"codex", Deny, `{"hookSpecificOutput":{"hookEventName":"PermissionRequest","decision":{"behavior":"deny","message":"why"}}}`},
		{"copilot", Allow, `{"behavior":"allow"}`},
		{"copilot", Deny, `{"behavior":"deny","message":"why"}`},
		{"claude", Ask, ""}, {"claude", "", ""}, {"gemini", Allow, ""}, {"opencode", Allow, ""}, {"", Allow, ""},
	} {
		if out, err := Answer(x.agent, x.d, "why"); string(out) != x.want || (err == nil) != (x.want != "") {
			t.Errorf("%s %s: %s, %v", x.agent, x.d, out, err)
		}
	}
}

func TestShow(t *testing.T) {
	for _, x := range []struct{ tool, args, summary, diff string }{
		{"Bash", `{"command":"rm -rf\n build","description":"x"}`, "Bash: rm -rf build", ""},
		{"Edit", `{"file_path":"/a","old_string":"b\nc","new_string":"d"}`, "Edit: /a", "--- /a\n+++ /a\n-b\n-c\n+d\n"},
		{"Write", `{"file_path":"/a","content":"b\n"}`, "Write: /a", "--- /a\n+++ /a\n+b\n"},
		{"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"b","new_string":"c"},{"old_string":"d","new_string":""}]}`, "MultiEdit: /a", "--- /a\n+++ /a\n-b\n+c\n-d\n"},
		{"edit", `{"path":"/a","old_str":"b","new_str":"c"}`, "edit: /a", "--- /a\n+++ /a\n-b\n+c\n"},
		{"apply_patch", `{"command":"*** Begin Patch"}`, "apply_patch: *** Begin Patch", "*** Begin Patch"},
		{"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"b","new_string":"c","replace_all":true}]}`, "MultiEdit: /a", "--- /a\n+++ /a\n@@ every occurrence @@\n-b\n+c\n"},
		{"Edit", `{"file_path":"/a\n+++ /b","old_string":"","new_string":"d"}`, "Edit: /a +++ /b", "--- /a\\n+++ /b\n+++ /a\\n+++ /b\n+d\n"},
		// Lines that would not say all of the arguments are not shown instead of them.
		{"Edit", `{"file_path":"/a","old_string":"b","new_string":"c","mode":"0777"}`, "Edit: /a", ""},
		{"Edit", `{"file_path":"/etc","path":"/passwd","old_string":"b","new_string":"c"}`, "Edit: /etc", ""},
		{"MultiEdit", `{"file_path":"/a","edits":[{"old_string":"b","new_string":"c","path":"/b"}]}`, "MultiEdit: /a", ""},
		{"mcp__deploy", `{"path":"README.md","content":"a word","run":"rm -rf ~"}`, "mcp__deploy: README.md", ""},
		{"NotebookEdit", `{"notebook_path":"/a","new_source":"x","edit_mode":"delete"}`, "NotebookEdit: /a", ""},
		{"mcp__x", `{"a":1}`, "mcp__x", ""},
		{"Bash", `{`, "Bash", ""},
		{"Bash", `{"command":"l\u0000s\rid\n x\u0085"}`, `Bash: l\x00s\x0did x\u0085`, ""},
		{"Bash", `{"command":"ls \u202etxt.\u001b[2J"}`, `Bash: ls \u202etxt.\x1b[2J`, ""},
	} {
		r := Request{Tool: x.tool, Arguments: x.args}
		if got := Summary(r); got != x.summary {
			t.Errorf("%s: %q, want %q", x.tool, got, x.summary)
		}
		if got := Diff(r); got != x.diff {
			t.Errorf("%s: %q, want %q", x.tool, got, x.diff)
		}
	}
	if got := Summary(Request{Tool: "Bash", Arguments: `{"command":"` + strings.Repeat("ä", 1000) + `"}`}); len([]rune(got)) != maxSummary {
		t.Errorf("%d characters", len([]rune(got)))
	}
}

// What is decoded from a hook encodes to the same, and no input makes the hook of
// one that cannot grant.
func FuzzReadHook(f *testing.F) {
	f.Add("claude", `{"hook_event_name":"PermissionRequest","cwd":"/w","tool_name":"Bash","tool_input":{"command":"ls"}}`)
	f.Add("copilot", `{"cwd":"/w","toolName":"bash","toolArgs":"{}"}`)
	f.Fuzz(func(t *testing.T, agent, in string) {
		r, err := ReadHook(agent, strings.NewReader(in))
		if err != nil {
			return
		}
		again, err := json.Marshal(map[string]any{"hook_event_name": "PermissionRequest", "cwd": r.Directory, "tool_name": r.Tool, "tool_input": json.RawMessage(r.Arguments)})
		if err != nil {
			t.Fatal(err)
		}
		back, err := ReadHook("claude", strings.NewReader(string(again)))
		compact := func(s string) string {
			values, _ := object([]byte(s))
			raw, _ := json.Marshal(values)
			return string(raw)
		}
		if err != nil || back.Tool != r.Tool || back.Directory != r.Directory || compact(back.Arguments) != compact(r.Arguments) {
			t.Errorf("%+v became %+v, %v", r, back, err)
		}
	})
}

// No command that is allowed has a character that some shell expands outside of
// quotes, and none makes the parser panic.
func FuzzShell(f *testing.F) {
	for _, x := range shellRequests {
		f.Add(x.command)
	}
	p := Place{Root: f.TempDir()}
	f.Fuzz(func(t *testing.T, command string) {
		v := p.shell(p.Root, command)
		if v.Decision != Allow {
			return
		}
		outside := command
		for _, quote := range []string{"'", `"`} {
			parts := strings.Split(outside, quote)
			for i := range parts {
				if i%2 == 1 && !strings.ContainsAny(parts[i], `'"`) {
					parts[i] = ""
				}
			}
			outside = strings.Join(parts, "")
		}
		if !strings.ContainsAny(command, `'"`) && strings.ContainsAny(strings.TrimSpace(outside), "$`*?[]{}~!#();|^\n\\") {
			t.Errorf("%q is allowed by %s", command, v.Rule)
		}
		words, err := simple(command, syntax.LangBash)
		if err != nil || len(words.words) == 0 || words.words[0] != "git" && !slices.Contains(names(), words.words[0]) {
			t.Errorf("%q is allowed: %v, %v", command, words, err)
		}
	})
}

func names() (list []string) {
	for name := range commands() {
		list = append(list, name)
	}
	return list
}

// What is allowed is a known tool with arguments that are an object.
func FuzzDecide(f *testing.F) {
	f.Add("Read", `{"file_path":"a"}`)
	f.Add("Grep", `{"pattern":"a","path":"."}`)
	f.Add("apply_patch", `{"command":"*** Begin Patch\n*** Add File: a\n+x\n*** End Patch"}`)
	p := Place{Root: f.TempDir()}
	f.Fuzz(func(t *testing.T, tool, args string) {
		v := p.Decide(Request{Tool: tool, Arguments: args, Directory: p.Root})
		_, err := object([]byte(args))
		if v.Decision == Allow && (err != nil || tools()[tool] == nil) || v.Rule == "" || v.Reason == "" {
			t.Errorf("%s %s: %+v", tool, args, v)
		}
	})
}

// A patch that is read names each file that a line of it names.
func FuzzPatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Add File: a\n+x\n*** End Patch")
	f.Fuzz(func(t *testing.T, patch string) {
		paths, err := patched(patch)
		if err == nil && strings.Count("\n"+patch, "\n*** Add File: ") > len(paths) {
			t.Errorf("%q: %q", patch, paths)
		}
	})
}
