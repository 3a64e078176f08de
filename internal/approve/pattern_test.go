//go:build unix

package approve

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// Links are what a pattern is followed through: those that lead out of the worktree, and
// those that do not.
func TestPatternsThroughLinks(t *testing.T) {
	y := newYard(t)
	y.root = filepath.Join(y.base, "data/workspaces/links")
	for _, dir := range []string{"d/e", "src/deep", "[id]", "app/[id]"} {
		y.ok(os.MkdirAll(filepath.Join(y.root, dir), 0o700))
	}
	for name, target := range map[string]string{
		"etcl": "/etc", "d/e/l": "/etc", "in": "src", "to": "d", "passwd": "/etc/passwd", "src/gone": "/nowhere/at/all",
		"d/e/again": "../../d", "[id]/out": "/etc", "src/deep/up": "..",
	} {
		y.ok(os.Symlink(target, filepath.Join(y.root, name)))
	}
	for _, x := range []struct {
		path, pattern string
		want          Decision
		rule          string
	}{
		{"", "?tcl/*", Ask, "outside"},
		{"", "e*/passwd", Ask, "outside"},
		{"", "*/passwd", Ask, "outside"},
		{"", "[a-f]tcl/passwd", Ask, "outside"},
		{"", "[[:lower:]]tcl/passwd", Ask, "git-directory"},
		{"", "E*/passwd", Ask, "outside"},
		{"", "{src,e*}/passwd", Ask, "outside"},
		{"", "*/", Ask, "outside"},
		{"", "d/**/l/*", Ask, "outside"},
		{"", "**/l/*", Ask, "outside"},
		{"", "**/e*/*", Ask, "outside"},
		{"", "**/*/*", Ask, "outside"},
		{"", "d/**/*.ts", Ask, "outside"},
		{"", "d/**", Ask, "outside"},
		{"", "to/**", Ask, "outside"},
		{"", "t*/e/l/*", Ask, "outside"},
		{"", "d/*/l/*", Ask, "outside"},
		{"d", "*/l/*", Ask, "outside"},
		{"", "*id*/out/*", Ask, "outside"},
		{"", "[id]/out/*", Ask, "outside"},
		{"", "[.][.]/*", Ask, "pattern"},
		{"", "[.][.]", Ask, "pattern"},
		{"", "?./*", Ask, "pattern"},
		{"", ".?/*", Ask, "pattern"},
		{"", "??/*", Ask, "pattern"},
		{"", ".*/*", Ask, "git-directory"},
		{"", "src/[!a]./*", Ask, "pattern"},
		{"", "**/*.go", Allow, "worktree"},
		{"", "**", Allow, "worktree"},
		{"", "*", Allow, "worktree"},
		{"", "e*", Allow, "worktree"},
		{"", "src/**/*.ts", Allow, "worktree"},
		{"src", "**/*.ts", Allow, "worktree"},
		{"", "src/**", Allow, "worktree"},
		{"", "s*/*.ts", Allow, "worktree"},
		{"", "i*/*.ts", Allow, "worktree"},
		{"", "in/*/up/*", Allow, "worktree"},
		{"", "app/[id]/page.tsx", Allow, "worktree"},
		{"", "src/*.*", Allow, "worktree"},
		{"", "none/**/x/*", Allow, "worktree"},
	} {
		for tool, args := range map[string]string{"Glob": `{"path":%q,"pattern":%q}`, "Grep": `{"path":%q,"glob":%q,"pattern":"x"}`} {
			v := y.place().Decide(Request{Tool: tool, Arguments: fmt.Sprintf(args, x.path, x.pattern), Directory: y.root})
			if v.Decision != x.want || v.Rule != x.rule {
				t.Errorf("%s %q in %q: %+v, want %s by %s", tool, x.pattern, x.path, v, x.want, x.rule)
			}
		}
	}
}

// A pattern or a diff with too much to look at asks; a pattern that follows no link looks
// at nothing.
func TestPatternsAreBounded(t *testing.T) {
	y := newYard(t)
	y.root = filepath.Join(y.base, "data/workspaces/many")
	for name, files := range map[string]int{"1": 1, "full": maxEntries + 1} {
		dir := filepath.Join(y.root, "src", name)
		y.ok(os.MkdirAll(dir, 0o700))
		for i := range files {
			y.ok(os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), nil, 0o600))
		}
	}
	for pattern, want := range map[string]Decision{"**/*.go": Allow, "src/*/*.go": Allow, "src/1/**/*.go": Allow, "src/**/*.go": Ask} {
		if v := y.place().Decide(Request{Tool: "Glob", Arguments: fmt.Sprintf(`{"pattern":%q}`, pattern), Directory: y.root}); v.Decision != want {
			t.Errorf("%s: %+v, want %s", pattern, v, want)
		}
	}
	if v := y.place().Decide(Request{Tool: "Bash", Arguments: `{"command":"diff src/1 src/full"}`, Directory: y.root}); v.Decision != Ask {
		t.Errorf("diff: %+v", v)
	}
}

// Text that a tool may take for another path than it says asks, for every tool.
func TestPathsThatAreRewritten(t *testing.T) {
	y := newYard(t)
	for _, path := range []string{
		" /etc/passwd", " ~/.ssh/id", " .git/config", " a", "a ", "\ta", "a\n", "\u00a0a", "\ufeffa", "a\u2003",
		"file:///etc/passwd", "FILE:/etc/passwd", "https://example.org/x", "vscode-remote://x/y", "$HOME/.ssh/id", "${HOME}/.ssh/id",
	} {
		for tool, name := range map[string]string{
			"Read": "file_path", "Write": "file_path", "Edit": "file_path", "MultiEdit": "file_path", "NotebookRead": "notebook_path", "NotebookEdit": "notebook_path",
			"LS": "path", "view": "path", "create": "path", "edit": "path", "Glob": "path", "Grep": "path",
		} {
			if v := y.place().Decide(Request{Tool: tool, Arguments: y.given(name, path), Directory: y.root}); v.Decision != Ask || v.Rule != "bad-path" {
				t.Errorf("%s %q: %+v, want ask by bad-path", tool, path, v)
			}
		}
		for tool, name := range map[string]string{"Glob": "pattern", "Grep": "glob"} {
			if v := y.place().Decide(Request{Tool: tool, Arguments: y.given(name, path), Directory: y.root}); v.Decision != Ask || v.Rule != "pattern" {
				t.Errorf("%s %q: %+v, want ask by pattern", tool, path, v)
			}
		}
	}
	for _, x := range []struct{ tool, name, value string }{
		{"Read", "file_path", "a b"}, {"Read", "file_path", "src/$id.tsx"}, {"Read", "file_path", "a:b"}, {"Grep", "pattern", " $x"}, {"Glob", "pattern", "a b/*.go"},
	} {
		if v := y.place().Decide(Request{Tool: x.tool, Arguments: y.given(x.name, x.value), Directory: y.root}); v.Decision != Allow {
			t.Errorf("%s %q: %+v", x.tool, x.value, v)
		}
	}
}
