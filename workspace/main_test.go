package workspace_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"go.uber.org/goleak"

	"middleman/workspace"
)

// homeVariable names the home to processes that a test starts, and may kill.
const homeVariable = "MIDDLEMAN_TEST_HOME"

// TestMain gives git a home without the user's configuration.
func TestMain(m *testing.M) {
	if os.Getenv(homeVariable) != "" {
		os.Exit(m.Run())
	}
	home, err := os.MkdirTemp("", "workspace-home-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	config := filepath.Join(home, "gitconfig")
	settings := "[user]\n\tname = Somebody\n\temail = somebody@example.org\n[init]\n\tdefaultBranch = main\n[protocol \"file\"]\n\tallow = always\n" +
		"[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n" +
		"[filter \"loud\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n\trequired = true\n"
	if err := os.WriteFile(config, []byte(settings), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for name, value := range map[string]string{
		homeVariable: home, "HOME": home, "XDG_CONFIG_HOME": home, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": config,
	} {
		os.Setenv(name, value)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home)
		os.Exit(code)
	}))
}

// runGit runs git as a user would and returns its output, trimmed.
func runGit(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(dir string, args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_EDITOR=:")
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func write(t testing.TB, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

// commit writes one file and commits it.
func commit(t testing.TB, dir, file, content string) {
	t.Helper()
	write(t, filepath.Join(dir, file), content)
	runGit(t, dir, "add", "--", file)
	runGit(t, dir, "commit", "-q", "-m", "Change "+filepath.Base(file))
}

// newRepo is a repository with two files and a commit for each.
func newRepo(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(dir, "repo")
	if err := os.CopyFS(dir, os.DirFS(template(t))); err != nil {
		t.Fatal(err)
	}
	return dir
}

var (
	templateOnce sync.Once
	templateDir  string
)

// template is a repository to copy, which takes less than to make one.
func template(t testing.TB) string {
	t.Helper()
	templateOnce.Do(func() {
		dir := filepath.Join(os.Getenv("HOME"), "template")
		runGit(t, "/", "init", "-q", "--template=", dir)
		commit(t, dir, "a.txt", "one\n")
		commit(t, dir, "sub/deep/b.txt", "two\n")
		write(t, filepath.Join(dir, ".git/info/exclude"), "")
		templateDir = dir
	})
	return templateDir
}

func newManager(t testing.TB) (*workspace.Manager, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	base := filepath.Join(dir, "data", "work")
	return workspace.New(workspace.Options{Base: base}), base
}

func request(repo, id string) workspace.CreateRequest {
	return workspace.CreateRequest{ID: id, Name: "fix", Mode: workspace.ModeWorktree, Directory: repo}
}

func create(t testing.TB, m *workspace.Manager, r workspace.CreateRequest) workspace.Workspace {
	t.Helper()
	w, err := m.Create(context.Background(), r, nil)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// baseOf is the base of a workspace in it: a worktree is at GROUP/NAME there, or at
// its id if an earlier version made it.
func baseOf(w workspace.Workspace) string {
	if filepath.Base(w.Root) == w.ID {
		return filepath.Dir(w.Root)
	}
	return filepath.Dir(filepath.Dir(w.Root))
}

// earlier moves a worktree to where earlier versions made it: its id in the base.
func earlier(t testing.TB, w workspace.Workspace) workspace.Workspace {
	t.Helper()
	root := filepath.Join(baseOf(w), w.ID)
	if err := os.Rename(w.Root, root); err != nil {
		t.Fatal(err)
	}
	_ = os.Remove(filepath.Dir(w.Root)) // unless another is in it
	write(t, filepath.Join(w.GitDir, "worktrees", w.ID, "gitdir"), filepath.Join(root, ".git")+"\n")
	w.Root = root
	return w
}

// eachLayout runs a test for worktrees at GROUP/NAME, and for those of earlier
// versions. lay puts one where it must be.
func eachLayout(t *testing.T, test func(t *testing.T, lay func(testing.TB, workspace.Workspace) workspace.Workspace)) {
	t.Run("readable", func(t *testing.T) { test(t, readable) })
	t.Run("at its id", func(t *testing.T) { test(t, earlier) })
}

// readable leaves a worktree where it was made.
func readable(_ testing.TB, w workspace.Workspace) workspace.Workspace { return w }

// namesIn are the names in a directory, "" if it is gone.
func namesIn(dir string) string {
	entries, _ := os.ReadDir(dir)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return strings.Join(names, " ")
}

// state is all that a workspace could leave in a repository and in the base:
// refs, reflogs, entries, configuration, files.
func state(t testing.TB, repo, base string) string {
	t.Helper()
	var b strings.Builder
	for _, dir := range []string{filepath.Join(repo, ".git"), base} {
		err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
			if os.IsNotExist(err) {
				return nil
			}
			if err != nil {
				return err
			}
			below, _ := filepath.Rel(dir, path)
			switch {
			case entry.IsDir() && strings.HasPrefix(below, "objects"):
				return filepath.SkipDir
			case entry.IsDir():
				return nil
			case entry.Type() == os.ModeSymlink:
				target, err := os.Readlink(path)
				fmt.Fprintf(&b, "%s -> %s\n", below, target)
				return err
			}
			content, err := os.ReadFile(path)
			if !utf8.Valid(content) {
				// A digest: in bytes that are compressed any short name is found, by chance.
				content = fmt.Appendf(nil, "%x", sha256.Sum256(content))
			}
			fmt.Fprintf(&b, "%s %q\n", below, content)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return b.String() + runGit(t, repo, "for-each-ref")
}

// treeState is the files of a checkout.
func treeState(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if err == nil && entry.Name() == ".git" {
				return filepath.SkipDir
			}
			return err
		}
		content, err := os.ReadFile(path)
		b.WriteString(path + " " + string(content) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// dropSnapshot makes sure that a forced delete has left a snapshot in the
// repository, and lets go of it, so that all else can be compared.
func dropSnapshot(t testing.TB, repo, id string) {
	t.Helper()
	runGit(t, repo, "update-ref", "-d", "refs/middleman/trash/"+id, runGit(t, repo, "rev-parse", "--verify", "refs/middleman/trash/"+id))
}

func tryShell(dir, script string) (string, error) {
	cmd := exec.Command("sh", "-c", script)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}
