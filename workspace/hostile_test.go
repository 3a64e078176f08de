package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

// canary is a command that leaves a trace when it runs.
func canary(t *testing.T) (command string, traces func() string) {
	t.Helper()
	dir := t.TempDir()
	script := filepath.Join(dir, "run")
	trace := filepath.Join(dir, "trace")
	body := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >> '%s'\n[ -t 0 ] || cat\n", trace)
	testenv.WriteProgram(t, script, body)
	return script, func() string {
		content, err := os.ReadFile(trace)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return string(content)
	}
}

// plant makes everything that a repository's own configuration can have git
// run lead to command.
func plant(t *testing.T, dir, command string) {
	t.Helper()
	hooks := runGit(t, dir, "rev-parse", "--path-format=absolute", "--git-common-dir") + "/hooks"
	for _, hook := range []string{"post-checkout", "post-index-change", "reference-transaction", "pre-commit", "post-commit", "fsmonitor-watchman"} {
		write(t, hooks+"/"+hook, "#!/bin/sh\nexec '"+command+"' "+hook+"\n")
		if err := os.Chmod(hooks+"/"+hook, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for key, value := range map[string]string{
		"core.fsmonitor": command, "core.pager": command, "diff.external": command, "core.sshCommand": command,
		"core.editor": command, "core.askPass": command, "credential.helper": command, "gpg.program": command,
		"log.showSignature": "true", "diff.evil.command": command, "diff.evil.textconv": command, "merge.evil.driver": command,
		"core.alternateRefsCommand": command, "uploadpack.packObjectsHook": command, "status.submoduleSummary": "true",
		"interactive.diffFilter": command, "core.gitProxy": command, "sequence.editor": command, "core.untrackedCache": "true",
	} {
		runGit(t, dir, "config", key, value)
	}
}

// plantFilters adds the filters, which run on a checkout and, with the
// repository's configuration alone, never on a look.
func plantFilters(t *testing.T, dir, command string) {
	t.Helper()
	for _, name := range []string{"evil", "evil=2"} {
		runGit(t, dir, "config", "filter."+name+".clean", command)
		runGit(t, dir, "config", "filter."+name+".smudge", command)
		runGit(t, dir, "config", "filter."+name+".process", command)
		runGit(t, dir, "config", "filter."+name+".required", "true")
	}
}

func TestNothingOfTheRepositoryRuns(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "* diff=evil merge=evil\n*.f filter=evil\n")
	commit(t, repo, "y.f", "filtered\n")
	command, traces := canary(t)
	plant(t, repo, command)
	plantFilters(t, repo, command)
	m, _ := newManager(t)
	ctx := context.Background()
	w := create(t, m, request(repo, "w1"))
	if got := traces(); got != "" {
		t.Fatalf("Create ran:\n%s", got)
	}
	write(t, w.Root+"/a.txt", "changed\n")
	write(t, w.Root+"/x.f", "filtered\n")
	write(t, w.Root+"/.gitattributes", "* filter=evil diff=evil\nsub/** filter=evil=2\n")
	if err := os.Chtimes(w.Root+"/sub/deep/b.txt", w.CreatedAt, w.CreatedAt.AddDate(-1, 0, 0)); err != nil {
		t.Fatal(err) // now git must read it, through its filter
	}
	loss, err := m.Inspect(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(loss.Changed, []string{".gitattributes", "a.txt"}) || !slices.Equal(loss.Untracked, []string{"x.f"}) {
		t.Errorf("loss %+v", loss)
	}
	if _, err := m.Delete(ctx, w, true, nil); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.Restore(ctx, w, nil); err != nil {
		t.Fatal(err)
	}
	if content, err := os.ReadFile(w.Root + "/x.f"); err != nil || string(content) != "filtered\n" {
		t.Errorf("restored: %q, %v", content, err)
	}
	if got := traces(); got != "" {
		t.Errorf("Inspect, Delete or Restore ran:\n%s", got)
	}
}

// What a program plants in its worktree must not run when we look there: a
// nested repository behind a gitlink, an embedded bare one, configuration of
// the worktree.
func TestNothingPlantedInTheWorktreeRuns(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	command, traces := canary(t)
	m, _ := newManager(t)
	ctx := context.Background()
	runGit(t, repo, "config", "extensions.worktreeConfig", "true")
	w := create(t, m, request(repo, "w1"))

	inner := filepath.Join(w.Root, "inner")
	runGit(t, "/", "init", "-q", inner)
	commit(t, inner, ".gitattributes", "* filter=evil\n")
	commit(t, inner, "x", "1\n")
	runGit(t, w.Root, "-c", "advice.addEmbeddedRepo=false", "add", "inner")
	runGit(t, "/", "init", "-q", "--bare", w.Root+"/bare")
	write(t, w.Root+"/.gitattributes", "* filter=evil\n")
	write(t, inner+"/x", "2\n")
	for key, value := range map[string]string{"filter.evil.clean": command, "filter.evil.process": command, "core.fsmonitor": command} {
		runGit(t, w.Root, "config", "--worktree", key, value)
		runGit(t, inner, "config", key, value)
		runGit(t, "/", "--git-dir", w.Root+"/bare", "config", key, value)
	}
	loss, err := m.Inspect(ctx, w)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(loss.Changed, "inner (a repository of its own)") {
		t.Errorf("loss %+v", loss)
	}
	if _, err := m.Delete(ctx, w, false, nil); err == nil {
		t.Error("deleted")
	}
	if got := traces(); got != "" {
		t.Errorf("ran:\n%s", got)
	}
	// The canary does run where git is used without care: it proves something.
	_, _ = tryGit(w.Root, "status")
	if traces() == "" {
		t.Error("the canary never runs")
	}
}

// A base directory that is swapped for a link while a worktree is made: git
// is led astray, and that is seen. Nothing is undone while the base is not the
// one that was checked.
func TestBaseSwappedWhileCreating(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	commit(t, repo, ".gitattributes", "*.held filter=swap\n")
	commit(t, repo, "x.held", "x\n")
	m, base := newManager(t)
	victim := filepath.Join(filepath.Dir(filepath.Dir(base)), "victim")
	write(t, filepath.Join(victim, "repo", "fix", "precious"), "work")
	runGit(t, repo, "config", "filter.swap.smudge", fmt.Sprintf("mv '%s' '%s.old'; ln -s '%s' '%s'; cat", base, base, victim, base))
	r := request(repo, "w1")
	r.Filters = true
	_, err := m.Create(context.Background(), r, nil)
	if err == nil || !strings.Contains(err.Error(), "was replaced") {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(filepath.Join(victim, "repo", "fix", "precious")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(os.Remove(base), os.Rename(base+".old", base)); err != nil {
		t.Fatal(err)
	}
	if err := m.Undo(context.Background(), recorded(r), false); err != nil {
		t.Error(err)
	}
	if got := runGit(t, repo, "branch", "--list", "middleman/*"); got != "" {
		t.Errorf("branch left: %s", got)
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 0 {
		t.Errorf("left in the base: %v, %v", entries, err)
	}
}

// Variables that aim git elsewhere do not reach it.
func TestEnvironmentDoesNotRedirect(t *testing.T) {
	repo, other := newRepo(t), newRepo(t)
	command, traces := canary(t)
	t.Setenv("GIT_DIR", other+"/.git")
	t.Setenv("GIT_WORK_TREE", other)
	t.Setenv("GIT_INDEX_FILE", other+"/.git/index")
	t.Setenv("GIT_EXTERNAL_DIFF", command)
	t.Setenv("GIT_CONFIG_PARAMETERS", "'core.fsmonitor="+command+"'")
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	if w.Repository != repo {
		t.Errorf("repository %s, want %s", w.Repository, repo)
	}
	if _, err := m.Delete(context.Background(), w, false, nil); err != nil {
		t.Error(err)
	}
	if got := traces(); got != "" {
		t.Errorf("ran:\n%s", got)
	}
}
