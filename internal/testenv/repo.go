package testenv

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Repo is a throw-away git repository with a worktree on branch main. Its git
// sees no configuration of the user's or the system's.
type Repo struct {
	Dir  string // the top of its worktree, canonical
	Home string // the empty home directory of its git
	t    testing.TB
}

// NewRepo makes a repository with one commit, of a file README.
func NewRepo(t testing.TB) *Repo {
	t.Helper()
	r := EmptyRepo(t)
	r.Write("README", "a repository for tests\n")
	r.Commit("first")
	return r
}

// EmptyRepo makes a repository without commits.
func EmptyRepo(t testing.TB) *Repo {
	t.Helper()
	RequireTool(t, "git")
	top := ShortDir(t)
	r := &Repo{Dir: filepath.Join(top, "repo"), Home: filepath.Join(top, "home"), t: t}
	for _, dir := range []string{r.Dir, r.Home} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("init", "-q", "-b", "main")
	return r
}

// GitEnv is an environment in which git sees no configuration but that of the
// repository and home, and its commits are the same each time.
func GitEnv(home string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "XDG_CONFIG_HOME=" + filepath.Join(home, ".config"),
		"LC_ALL=C", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=Test", "GIT_AUTHOR_EMAIL=test@example.invalid", "GIT_AUTHOR_DATE=2026-01-01T00:00:00Z",
		"GIT_COMMITTER_NAME=Test", "GIT_COMMITTER_EMAIL=test@example.invalid", "GIT_COMMITTER_DATE=2026-01-01T00:00:00Z",
	}
}

// UseGitEnv makes GitEnv a part of the test's own environment, until the test ends.
func UseGitEnv(t testing.TB, home string) {
	t.Helper()
	for _, kv := range GitEnv(home) {
		name, value, _ := strings.Cut(kv, "=")
		t.Setenv(name, value)
	}
}

// Git runs git in the repository and returns its output without the last
// newline. A failure fails the test.
func (r *Repo) Git(args ...string) string {
	r.t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = r.Dir, GitEnv(r.Home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSuffix(string(out), "\n")
}

// Write writes a file, and the directories above it, below the repository.
func (r *Repo) Write(name, content string) {
	r.t.Helper()
	path := filepath.Join(r.Dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

// Commit commits all that is there and returns the commit's id.
func (r *Repo) Commit(message string) string {
	r.t.Helper()
	r.Git("add", "-A")
	r.Git("commit", "-q", "-m", message)
	return r.Git("rev-parse", "HEAD")
}
