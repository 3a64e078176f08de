package workspace_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/workspace"
)

// pushable is a workspace with a commit, whose repository has a bare origin.
func pushable(t *testing.T) (m *workspace.Manager, w workspace.Workspace, repo, origin string) {
	t.Helper()
	m, _ = newManager(t)
	repo = newRepo(t)
	origin = filepath.Join(filepath.Dir(repo), "origin.git")
	runGit(t, repo, "clone", "-q", "--bare", "--template=", repo, origin)
	runGit(t, repo, "remote", "add", "origin", origin)
	runGit(t, repo, "fetch", "-q", "origin")
	w = create(t, m, request(repo, "w1"))
	commit(t, w.Root, "new.txt", "1\n")
	return m, w, repo, origin
}

func TestPush(t *testing.T) {
	m, w, repo, origin := pushable(t)
	head := func() string { return runGit(t, w.Root, "rev-parse", "HEAD") }
	there := func() string {
		return runGit(t, origin, "for-each-ref", "--format=%(objectname)", "refs/heads/middleman/fix")
	}
	untouched(t, w, repo, func() {
		got, err := m.Push(t.Context(), w, workspace.PushRequest{DryRun: true})
		if err != nil || got.Remote != "origin" || got.Commits != 1 || got.Upstream != "origin/middleman/fix" || there() != "" {
			t.Errorf("dry run: %+v, %v", got, err)
		}
	})
	got, err := m.Push(t.Context(), w, workspace.PushRequest{})
	if err != nil || got.Done != "new" || there() != head() || got.Head != head() || runGit(t, w.Root, "rev-parse", "--abbrev-ref", "@{upstream}") != "origin/middleman/fix" {
		t.Errorf("new: %+v, %v", got, err)
	}
	got, err = m.Push(t.Context(), w, workspace.PushRequest{})
	if err != nil || got.Done != "up to date" || got.Commits != 0 {
		t.Errorf("again: %+v, %v", got, err)
	}
	commit(t, w.Root, "new.txt", "2\n")
	write(t, w.Root+"/new.txt", "3\n")
	got, err = m.Push(t.Context(), w, workspace.PushRequest{})
	if err != nil || got.Done != "updated" || there() != head() || !strings.Contains(strings.Join(got.Warnings, "\n"), "changes in 1 files") {
		t.Errorf("updated: %+v, %v", got, err)
	}

	// Commits that another has pushed stay.
	runGit(t, w.Root, "reset", "-q", "--hard", "HEAD~1")
	commit(t, w.Root, "new.txt", "mine\n")
	before := there()
	_, err = m.Push(t.Context(), w, workspace.PushRequest{})
	if !errors.Is(err, workspace.ErrRejected) || !strings.Contains(err.Error(), "pull --rebase origin middleman/fix") || there() != before {
		t.Errorf("behind: %v", err)
	}

	// With a lease its own go, and nobody else's.
	if got, err = m.Push(t.Context(), w, workspace.PushRequest{ForceWithLease: true}); err != nil || got.Done != "replaced" || there() != head() || got.Head != head() {
		t.Errorf("with a lease: %+v, %v", got, err)
	}
	other := filepath.Join(filepath.Dir(repo), "other")
	runGit(t, repo, "clone", "-q", "-b", "middleman/fix", origin, other)
	for _, seen := range []bool{false, true} {
		commit(t, other, "theirs.txt", fmt.Sprintln(seen))
		theirs := runGit(t, other, "rev-parse", "HEAD")
		runGit(t, other, "push", "-q")
		if seen {
			runGit(t, repo, "fetch", "-q", "origin")
		}
		runGit(t, w.Root, "commit", "-q", "--amend", "--allow-empty", "-m", "amended")
		if _, err = m.Push(t.Context(), w, workspace.PushRequest{ForceWithLease: true}); !errors.Is(err, workspace.ErrRejected) || !strings.Contains(err.Error(), "never had") || there() != theirs {
			t.Errorf("commits of another, seen %v: %v", seen, err)
		}
	}

	// A branch that began at another one of the remote goes to its own name.
	runGit(t, w.Root, "switch", "-q", "-c", "feature/x", "--track", "origin/main")
	commit(t, w.Root, "x", "x\n")
	main := runGit(t, origin, "rev-parse", "main")
	if got, err = m.Push(t.Context(), w, workspace.PushRequest{}); err != nil || got.Branch != "feature/x" || runGit(t, origin, "rev-parse", "main") != main || runGit(t, origin, "rev-parse", "feature/x") != head() {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestPushFindsItsRemote(t *testing.T) {
	m, w, repo, origin := pushable(t)
	dry := workspace.PushRequest{DryRun: true}
	for _, tt := range []struct {
		setting, value, want string
	}{
		{"remote.fork.url", origin, "origin"}, {"branch.middleman/fix.remote", "fork", "fork"}, {"remote.pushDefault", "origin", "origin"},
		{"branch.middleman/fix.pushRemote", "fork", "fork"}, {"branch.middleman/fix.pushRemote", "gone", "origin"},
	} {
		runGit(t, repo, "config", tt.setting, tt.value)
		if got, err := m.Push(t.Context(), w, dry); err != nil || got.Remote != tt.want {
			t.Errorf("%s=%s: %+v, %v", tt.setting, tt.value, got, err)
		}
	}
	for _, setting := range []string{"branch.middleman/fix.remote", "remote.pushDefault", "branch.middleman/fix.pushRemote"} {
		runGit(t, repo, "config", "--unset", setting)
	}
	runGit(t, repo, "remote", "rename", "origin", "upstream")
	if _, err := m.Push(t.Context(), w, dry); err == nil || !strings.Contains(err.Error(), "--remote") {
		t.Errorf("two remotes: %v", err)
	}
	for _, remote := range []string{"none", "--mirror", origin, "."} {
		if _, err := m.Push(t.Context(), w, workspace.PushRequest{Remote: remote}); !errors.Is(err, workspace.ErrBadRequest) {
			t.Errorf("%s: %v", remote, err)
		}
	}
	runGit(t, repo, "remote", "set-url", "fork", "https://somebody:secret@github.com/o/r.git")
	if got, err := m.Push(t.Context(), w, workspace.PushRequest{Remote: "fork", DryRun: true}); err != nil || got.Link != "https://github.com/o/r/compare/main...middleman/fix?expand=1" {
		t.Errorf("%+v, %v", got, err)
	}
	for _, remote := range []string{"fork", "upstream"} {
		runGit(t, repo, "remote", "remove", remote)
	}
	if _, err := m.Push(t.Context(), w, dry); err == nil || !strings.Contains(err.Error(), "git remote add") {
		t.Errorf("no remote: %v", err)
	}
	runGit(t, w.Root, "switch", "-q", "--detach")
	if _, err := m.Push(t.Context(), w, dry); !errors.Is(err, workspace.ErrBadRequest) {
		t.Errorf("detached: %v", err)
	}
}

// Neither the repository's configuration nor its hooks run a program, nor does a
// remote that is a directory; with consent the latter does, and its link is taken.
func TestPushRunsNothing(t *testing.T) {
	m, w, repo, origin := pushable(t)
	trap := filepath.Join(t.TempDir(), "ran")
	touch := "touch " + trap
	hook := func(dir, name, script string) {
		write(t, filepath.Join(dir, "hooks", name), "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(dir, "hooks", name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"pre-push", "reference-transaction"} {
		hook(repo+"/.git", name, touch)
	}
	for _, name := range []string{"pre-receive", "update", "reference-transaction", "post-update", "push-to-checkout", "proc-receive"} {
		hook(origin, name, touch)
	}
	hook(origin, "post-receive", touch+"; echo 'Create a pull request for it:' >&2; echo '   https://forge.example/new/1' >&2")
	for key, value := range map[string]string{
		"remote.origin.receivepack": touch + " #", "remote.origin.uploadpack": touch + " #", "core.fsmonitor": touch, "gpg.program": touch, "push.gpgSign": "true",
		"core.sshCommand": touch, "credential.helper": touch, "core.askPass": touch, "push.recurseSubmodules": "on-demand", "push.followTags": "true",
	} {
		runGit(t, repo, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "config", key, value)
	}
	runGit(t, origin, "config", "core.fsmonitor", touch)
	runGit(t, origin, "config", "core.alternateRefsCommand", touch)
	write(t, origin+"/objects/info/alternates", repo+"/.git/objects\n")
	got, err := m.Push(t.Context(), w, workspace.PushRequest{})
	if err != nil || got.Done != "new" {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Fatal("a program of the repository or of the remote ran")
	}
	warned := strings.Join(got.Warnings, "\n")
	for _, want := range []string{"pre-push", "a directory of this machine", "remote.origin.receivepack"} {
		if !strings.Contains(warned, want) {
			t.Errorf("no word of %s in:\n%s", want, warned)
		}
	}

	runGit(t, repo, "-c", "core.fsmonitor=false", "config", "--unset", "remote.origin.receivepack")
	runGit(t, origin, "config", "--unset", "core.fsmonitor")
	if err := os.Remove(origin + "/hooks/proc-receive"); err != nil {
		t.Fatal(err)
	}
	runGit(t, w.Root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "--no-gpg-sign", "--allow-empty", "-m", "more")
	got, err = m.Push(t.Context(), w, workspace.PushRequest{Filters: true})
	if err != nil || got.Done != "updated" || got.Link != "https://forge.example/new/1" {
		t.Errorf("with consent: %+v, %v", got, err)
	}
	if _, err := os.Stat(trap); err != nil {
		t.Error("with consent the remote's hooks did not run")
	}

	// What the remote says is the reason.
	hook(origin, "pre-receive", "echo 'no pushes on Fridays' >&2; exit 1")
	runGit(t, w.Root, "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "more")
	if _, err = m.Push(t.Context(), w, workspace.PushRequest{Filters: true}); !errors.Is(err, workspace.ErrRejected) || !strings.Contains(err.Error(), "no pushes on Fridays") {
		t.Errorf("refused by a hook: %v", err)
	}
	runGit(t, repo, "remote", "set-url", "origin", origin+"/gone")
	if _, err = m.Push(t.Context(), w, workspace.PushRequest{}); !errors.Is(err, workspace.ErrPush) || strings.Contains(err.Error(), "--porcelain") {
		t.Errorf("no such repository: %v", err)
	}
}
