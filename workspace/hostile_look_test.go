//go:build unix

package workspace_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"middleman/workspace"
)

// lookLimit is when a test gives a look up, hangLimit when it gives up one
// that must hang, and lookEnd when it must be over: git may not heed the first
// signal.
const (
	lookLimit = time.Minute
	hangLimit = 500 * time.Millisecond
	lookEnd   = 90 * time.Second
)

// evil sets everything in a configuration file that could have git run command.
func evil(t *testing.T, file, command string) {
	t.Helper()
	var lines strings.Builder
	for key, value := range map[string]string{
		"core.fsmonitor": command, "core.pager": command, "diff.external": command, "core.sshCommand": command, "core.editor": command,
		"core.askPass": command, "credential.helper": "!" + command, "gpg.program": command, "gpg.ssh.program": command, "log.showSignature": "true",
		"diff.evil.command": command, "diff.evil.textconv": command, "merge.evil.driver": command, "merge.default": "evil",
		"core.alternateRefsCommand": command, "core.hooksPath": filepath.Dir(command), "alias.status": "!" + command, "alias.diff": "!" + command,
		"alias.rev-list": "!" + command, "pager.status": command, "pager.diff": command, "pager.log": command, "status.submoduleSummary": "true",
		"filter.evil.clean": command, "filter.evil.smudge": command, "filter.evil.process": command, "filter.evil.required": "true",
		"interactive.diffFilter": command, "core.gitProxy": command, "remote.origin.uploadpack": command, "remote.origin.url": "ext::" + command,
		"remote.origin.promisor": "true", "remote.origin.partialclonefilter": "blob:none", "submodule.sub.update": "!" + command,
		"submodule.recurse": "true", "diff.submodule": "diff", "trace2.eventTarget": "|" + command, "protocol.ext.allow": "always",
	} {
		section, name, _ := strings.Cut(key, ".")
		if i := strings.LastIndexByte(name, '.'); i >= 0 {
			section, name = fmt.Sprintf("%s %q", section, name[:i]), name[i+1:]
		}
		fmt.Fprintf(&lines, "[%s]\n\t%s = %q\n", section, name, value)
	}
	before, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, append(before, lines.String()...), 0o644); err != nil {
		t.Fatal(err)
	}
}

// attack is what a program in a workspace plants.
type attack struct {
	name string
	do   func(t *testing.T, w workspace.Workspace, command string)
	// hangs: git would wait for ever, so looks end with an error when their
	// time is up.
	hangs bool
	// provoke runs the canary as a careless git would; nil where no git command
	// that a user types runs it.
	provoke []string
}

// entry is git's own directory for the worktree.
func entry(w workspace.Workspace) string { return w.GitDir + "/worktrees/" + w.ID }

func evilRepo(t *testing.T, dir, command string) {
	t.Helper()
	runGit(t, "/", "init", "-q", dir)
	commit(t, dir, ".gitattributes", "* filter=evil diff=evil merge=evil\n")
	commit(t, dir, "x", "1\n")
	write(t, dir+"/x", "2\n")
	evil(t, dir+"/.git/config", command)
}

var attacks = []attack{
	{name: ".git leads to another repository", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/evil", command)
		os.Remove(w.Root + "/.git")
		write(t, w.Root+"/.git", "gitdir: "+w.Root+"/evil/.git\n")
	}, provoke: []string{"status"}},
	{name: ".git is another repository", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/evil", command)
		os.Remove(w.Root + "/.git")
		os.Rename(w.Root+"/evil/.git", w.Root+"/.git")
	}, provoke: []string{"status"}},
	{name: "commondir", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/evil", command)
		write(t, entry(w)+"/commondir", w.Root+"/evil/.git\n")
	}, provoke: []string{"status"}},
	{name: "configuration of the repository", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, w.Root+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
		evil(t, w.GitDir+"/config", command)
	}, provoke: []string{"status"}},
	{name: "configuration of the worktree", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, w.Root+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
		runGit(t, w.Repository, "config", "extensions.worktreeConfig", "true")
		evil(t, entry(w)+"/config.worktree", command)
	}, provoke: []string{"status"}},
	{name: "included configuration", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, w.Root+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
		evil(t, w.Root+"/config", command)
		runGit(t, w.Repository, "config", "include.path", w.Root+"/config")
		runGit(t, w.Repository, "config", "includeIf.onbranch:**.path", w.Root+"/config")
	}, provoke: []string{"status"}},
	{name: "info/attributes", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, w.GitDir+"/info/attributes", "* filter=evil diff=evil merge=evil\n")
		evil(t, w.GitDir+"/config", command)
	}, provoke: []string{"diff"}},
	{name: "gitlink with a nested repository", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/inner", command)
		head := runGit(t, "/", "--git-dir="+w.Root+"/inner/.git", "rev-parse", "HEAD")
		runGit(t, w.Root, "update-index", "--add", "--cacheinfo", "160000,"+head+",inner")
	}, provoke: []string{"status"}},
	{name: "submodule", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/mod", command)
		head := runGit(t, "/", "--git-dir="+w.Root+"/mod/.git", "rev-parse", "HEAD")
		os.MkdirAll(entry(w)+"/modules", 0o755)
		os.Rename(w.Root+"/mod/.git", entry(w)+"/modules/sub")
		write(t, w.Root+"/mod/.git", "gitdir: "+entry(w)+"/modules/sub\n")
		write(t, w.Root+"/.gitmodules", "[submodule \"sub\"]\n\tpath = mod\n\turl = ext::"+command+"\n\tupdate = !"+command+"\n\tignore = none\n")
		runGit(t, w.Root, "update-index", "--add", "--cacheinfo", "160000,"+head+",mod")
	}, provoke: []string{"-C", "mod", "status"}},
	{name: "embedded bare repository", do: func(t *testing.T, w workspace.Workspace, command string) {
		runGit(t, "/", "init", "-q", "--bare", w.Root+"/bare")
		evil(t, w.Root+"/bare/config", command)
		write(t, w.Root+"/bare/file", "1\n")
	}},
	{name: "core.worktree", do: func(t *testing.T, w workspace.Workspace, command string) {
		runGit(t, w.Repository, "config", "core.worktree", t.TempDir())
		runGit(t, w.Repository, "config", "core.bare", "true")
	}},
	{name: "alternates that lead elsewhere", do: func(t *testing.T, w workspace.Workspace, command string) {
		evilRepo(t, w.Root+"/evil", command)
		write(t, w.GitDir+"/objects/info/alternates", w.Root+"/evil/.git/objects\n/nowhere\n\"\\377\"\n")
	}},
	{name: "replacements and grafts", do: func(t *testing.T, w workspace.Workspace, command string) {
		commit(t, w.Root, "hidden", "1\n")
		runGit(t, w.Root, "replace", "HEAD", "HEAD^")
		write(t, w.GitDir+"/info/grafts", w.BaseCommit+"\n")
	}},
	{name: "reference to a file elsewhere", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, entry(w)+"/HEAD", "ref: ../../../../../../etc/passwd\n")
	}},
	{name: "HEAD without an end", do: func(t *testing.T, w workspace.Workspace, command string) {
		os.Remove(entry(w) + "/HEAD")
		os.Symlink("/dev/zero", entry(w)+"/HEAD")
	}, hangs: true},
	{name: "huge files", do: func(t *testing.T, w workspace.Workspace, command string) {
		sparse(t, w.Root+"/untracked", 1<<40)
		sparse(t, w.Root+"/a.txt", 1<<40)
	}},
	{name: "huge .gitignore", do: func(t *testing.T, w workspace.Workspace, command string) {
		sparse(t, w.Root+"/.gitignore", 1<<36)
	}, hangs: true},
	{name: "huge .gitattributes", do: func(t *testing.T, w workspace.Workspace, command string) {
		sparse(t, w.Root+"/.gitattributes", 1<<36)
	}, hangs: true},
	{name: "links that go round", do: func(t *testing.T, w workspace.Workspace, command string) {
		os.Symlink(".", w.Root+"/round")
		os.Symlink("loop", w.Root+"/loop")
		os.RemoveAll(w.Root + "/sub")
		os.Symlink("/", w.Root+"/sub")
		os.Symlink(".gitignore", w.Root+"/.gitignore")
		os.Symlink("/dev/zero", w.Root+"/.gitattributes")
	}},
	{name: "pipes called like files", do: func(t *testing.T, w workspace.Workspace, command string) {
		pipe(t, w.Root+"/a.txt")
		pipe(t, w.Root+"/untracked")
	}},
	{name: "pipe called .gitignore", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) {
		pipe(t, w.Root+"/sub/.gitignore")
	}},
	{name: "pipe called .gitattributes", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, w.Root+"/sub/deep/b.txt", "changed\n")
		pipe(t, w.Root+"/sub/deep/.gitattributes")
	}},
	{name: "pipe called index", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) { pipe(t, entry(w)+"/index") }},
	{name: "pipe called HEAD", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) { pipe(t, entry(w)+"/HEAD") }},
	{name: "pipe called config", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) { pipe(t, w.GitDir+"/config") }},
	{name: "pipe called packed-refs", hangs: true, do: func(t *testing.T, w workspace.Workspace, command string) { pipe(t, w.GitDir+"/packed-refs") }},
	{name: "pipe called .git", do: func(t *testing.T, w workspace.Workspace, command string) { pipe(t, w.Root+"/.git") }},
	{name: "index of an unknown kind", do: func(t *testing.T, w workspace.Workspace, command string) {
		write(t, entry(w)+"/index", "DIRC\x00\x00\x00\x02\x00\x00\x00\x00evil\x00\x00\x00\x04\x00\x00\x00\x00"+strings.Repeat("\x00", 20))
	}},
	{name: "index that says that nothing has changed", do: func(t *testing.T, w workspace.Workspace, command string) {
		evil(t, w.GitDir+"/config", command)
		runGit(t, w.Root, "-c", "core.fsmonitor=/bin/false", "update-index", "--fsmonitor")
		runGit(t, w.Root, "-c", "core.fsmonitor=/bin/false", "-c", "alias.x=!", "update-index", "--fsmonitor-valid", "a.txt")
		write(t, w.Root+"/a.txt", "changed\n")
	}},
}

func sparse(t *testing.T, path string, size int64) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		err = f.Truncate(size)
		f.Close()
	}
	if err != nil {
		t.Skipf("no sparse file of %d bytes here: %v", size, err)
	}
}

func pipe(t *testing.T, path string) {
	t.Helper()
	os.Remove(path)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
}

// Whatever is planted, no look runs it, waits for ever, or writes into the
// repository; and a careless git would have run it.
func TestNothingPlantedRunsInALook(t *testing.T) {
	t.Parallel()
	for _, a := range attacks {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			repo := newRepo(t)
			m, _ := newManager(t)
			w, other := create(t, m, request(repo, "w1")), create(t, m, request(repo, "w2"))
			command, traces := canary(t)
			a.do(t, w, command)
			if ran := traces(); ran != "" {
				t.Logf("while it was planted: %s", ran)
				os.Remove(filepath.Dir(command) + "/trace")
			}
			before := objects(t, repo)
			var all sync.WaitGroup
			for _, look := range looks(m, w, other) {
				all.Go(func() { try(t, look, a.hangs) })
			}
			all.Wait()
			if ran := traces(); ran != "" {
				t.Errorf("a look ran:\n%s", ran)
			}
			if objects(t, repo) != before {
				t.Error("a look wrote into the repository")
			}
			if a.provoke != nil {
				_, _ = tryGit(w.Root, a.provoke...)
				if traces() == "" {
					t.Error("the canary never runs, so this shows nothing")
				}
			}
		})
	}
}

// try looks until its time is up.
func try(t *testing.T, l look, hangs bool) {
	limit := lookLimit
	if hangs {
		limit = hangLimit
	}
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	began := time.Now()
	err := l.do(ctx)
	took := time.Since(began)
	if took > lookEnd || !hangs && took > lookLimit {
		t.Errorf("%s took %v", l.name, took)
	}
	t.Logf("%s: %v after %v", l.name, err, took)
}

type look struct {
	name string
	do   func(context.Context) error
}

// looks are all ways to look at w.
func looks(m *workspace.Manager, w, other workspace.Workspace) []look {
	compare := func(against workspace.Against, show func(context.Context, *workspace.Comparison) error) func(context.Context) error {
		return func(ctx context.Context) error {
			c, err := m.Compare(ctx, w, workspace.DiffRequest{Against: against})
			if err != nil {
				return err
			}
			defer c.Close()
			return show(ctx, c)
		}
	}
	return []look{
		{"status", func(ctx context.Context) error { _, err := m.Status(ctx, w); return err }},
		{"tree", func(ctx context.Context) error { _, err := m.Tree(ctx, w); return err }},
		{"patch", compare("", func(ctx context.Context, c *workspace.Comparison) error {
			var text bytes.Buffer
			_, err := c.Patch(ctx, &text, 1<<20)
			return err
		})},
		{"files", compare(workspace.AgainstHead, func(ctx context.Context, c *workspace.Comparison) error {
			_, err := c.Files(ctx)
			return err
		})},
		{"commits", func(ctx context.Context) error {
			_, err := m.Commits(ctx, w, workspace.CommitsRequest{})
			return err
		}},
		{"forecast", func(ctx context.Context) error {
			_, err := m.Forecast(ctx, other, []workspace.Workspace{w})
			return err
		}},
		{"delete's look", func(ctx context.Context) error { _, err := m.Inspect(ctx, w); return err }},
		{"mark", func(context.Context) error { m.Mark(w, ""); return nil }},
	}
}

// Refs that are led elsewhere would make commits look kept that are not.
func TestRefsLedElsewhere(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	commit(t, w.Root, "work", "1\n")
	head := runGit(t, w.Root, "rev-parse", "HEAD")
	elsewhere := t.TempDir()
	runGit(t, "/", "init", "-q", elsewhere)
	runGit(t, elsewhere, "fetch", "-q", repo, w.Branch)
	runGit(t, elsewhere, "update-ref", "refs/heads/saved", head)
	runGit(t, elsewhere, "update-ref", "refs/heads/main", head)
	write(t, entry(w)+"/commondir", elsewhere+"/.git\n")
	ctx := context.Background()
	if loss, err := m.Inspect(ctx, w); !errors.Is(err, workspace.ErrUnknown) {
		t.Errorf("a delete would lose %+v, %v", loss, err)
	}
	if s, err := m.Status(ctx, w); err != nil || s.Base == nil || s.Base.Ahead != 1 {
		t.Errorf("status %+v, %v", s, err)
	}
}

// A changed file that is huge is named, and not read.
func TestCompareLeavesHugeFilesOut(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	sparse(t, w.Root+"/a.txt", 1<<40)
	sparse(t, w.Root+"/new", 1<<40)
	write(t, w.Root+"/sub/deep/b.txt", "changed\n")
	c := compare(t, m, w, workspace.DiffRequest{})
	if got := short(t, c); !slices.Equal(got, []string{"changed sub/deep/b.txt +1 -1"}) {
		t.Errorf("%q", got)
	}
	if !slices.Equal(c.LeftOut, []string{"a.txt has changed and is too large", "new is too large"}) {
		t.Errorf("left out %q", c.LeftOut)
	}
}

// What git was told to pass over is compared all the same.
func TestCompareSeesHidden(t *testing.T) {
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	runGit(t, w.Root, "update-index", "--assume-unchanged", "a.txt")
	runGit(t, w.Root, "update-index", "--skip-worktree", "sub/deep/b.txt")
	write(t, w.Root+"/a.txt", "changed\n")
	write(t, w.Root+"/sub/deep/b.txt", "changed\n")
	if got := short(t, compare(t, m, w, workspace.DiffRequest{})); len(got) != 2 {
		t.Errorf("%q", got)
	}
	os.Remove(w.Root + "/sub/deep/b.txt")
	if got := short(t, compare(t, m, w, workspace.DiffRequest{})); len(got) != 1 {
		t.Errorf("of a sparse checkout: %q", got)
	}
}

// A status that git gives no answer for names what may be in its way.
func TestStatusNamesThePipe(t *testing.T) {
	if os.Getenv("MIDDLEMAN_LONG") == "" {
		t.Skip("takes 10 s: MIDDLEMAN_LONG=1")
	}
	t.Parallel()
	repo := newRepo(t)
	m, _ := newManager(t)
	w := create(t, m, request(repo, "w1"))
	pipe(t, w.Root+"/sub/.gitignore")
	s, err := m.Status(context.Background(), w)
	if err != nil || s.Files != nil || len(s.Unknown) == 0 || !strings.Contains(s.Unknown[0], "sub/.gitignore is no file that git can read") {
		t.Errorf("%+v, %v", s, err)
	}
}
