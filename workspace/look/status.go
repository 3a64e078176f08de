package look

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/model"
)

// statusTime limits the inspection of one workspace's status. A file planted
// there, such as a pipe named .gitignore, can block git for ever.
const statusTime = 10 * time.Second

// Status is the state of a workspace at the time AsOf. A part that is not known
// is nil, never zero, and Unknown says why.
type Status struct {
	Branch    string    `json:"branch,omitempty" doc:"The branch that is checked out; empty where HEAD is detached"`
	Head      string    `json:"head,omitempty" doc:"The commit that is checked out; empty on a branch without one"`
	Operation string    `json:"operation,omitempty" doc:"A merge, rebase, cherry-pick, revert or bisect in progress"`
	Files     *Files    `json:"files,omitempty" doc:"How many files are changed; unset if that is not known"`
	Upstream  *Distance `json:"upstream,omitempty" doc:"The distance from the branch's upstream; unset if it has none, or if that is not known"`
	Base      *Distance `json:"base,omitempty" doc:"The distance from the base as it is now; unset if that is not known"`
	Unknown   []string  `json:"unknown,omitempty" doc:"What could not be found out, and why"`
	Warnings  []string  `json:"warnings,omitempty" doc:"What differs from the workspace as it was made"`
	AsOf      time.Time `json:"as_of,omitzero" doc:"When it was read; unset if it was not read yet"`
	Source    string    `json:"source" enum:"git,events,memory,disk" doc:"git: read for this answer; events: read earlier by this server, and nothing has changed since as file-system events tell; memory: read earlier by this server; disk: read by the previous server"`
	Outdated  bool      `json:"outdated,omitempty" doc:"Something is known to have changed since"`
	Unwatched string    `json:"unwatched,omitempty" doc:"Why no file-system events tell of changes, so that it is read again when it is asked for"`
}

// Files counts the differences in a checkout as git status does. An untracked
// directory counts once. A file that is staged and changed again counts as
// both. Files that the user told git to skip (assume-unchanged, skip-worktree)
// do not count here, but a diff and the inspection before a delete see them.
type Files struct {
	Staged     int `json:"staged"`
	Changed    int `json:"changed"`
	Untracked  int `json:"untracked"`
	Conflicted int `json:"conflicted"`
}

// Clean reports whether nothing differs.
func (f Files) Clean() bool { return f == Files{} }

// Distance counts the commits that HEAD has and the other side lacks, and the
// reverse.
type Distance struct {
	Of     string `json:"of" doc:"The name of what it was compared with"`
	Ahead  int    `json:"ahead"`
	Behind int    `json:"behind"`
}

// Status returns the status of w. It runs no program of the repository and
// writes nothing. It returns an error only if there is no status at all, such
// as ErrNotRepository or ErrMissing.
func (i *Inspector) Status(ctx context.Context, w model.Workspace) (_ Status, err error) {
	defer model.Containing(w.Name, &err)
	s := Status{AsOf: time.Now().UTC(), Source: "git"}
	p, warnings, err := i.checkout(ctx, w)
	if err != nil {
		return Status{}, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	s.Warnings = warnings
	g, err := i.views.Open(ctx, p)
	if err != nil {
		return Status{}, fmt.Errorf("look at workspace %s: %w", w.Name, err)
	}
	defer g.Close()
	l := &collector{}
	l.operation(p)
	s.Operation = l.loss.Operation
	if err := s.files(ctx, g); err != nil {
		if ctx.Err() != nil {
			return Status{}, ctx.Err()
		}
		s.Files, s.Upstream = nil, nil
		s.unknown("files and upstream", git.Blame(err, p.WorkTree))
	}
	if w.Base == "" || s.Head == "" {
		return s, nil
	}
	base, err := i.distance(ctx, g, s.Head, w)
	if err != nil {
		s.unknown("distance from base "+plaintext.Quoted(w.Base), err)
	} else {
		s.Base = &base
	}
	return s, nil
}

func (s *Status) unknown(what string, err error) {
	s.Unknown = append(s.Unknown, what+": "+err.Error())
}

// checkout returns the git directories of w. It trusts the repository, and not
// the files in the workspace's directory.
func (i *Inspector) checkout(ctx context.Context, w model.Workspace) (p git.Dirs, warnings []string, err error) {
	switch w.Mode {
	case model.ModeDirectory:
		return git.Dirs{}, nil, fmt.Errorf("%s: %w", w.Root, model.ErrNotRepository)
	case model.ModeInPlace:
		p, err = checkoutOf(ctx, w.Root)
		return p, nil, err
	}
	base, err := basedir.Holding(i.base, w)
	if err != nil {
		return git.Dirs{}, nil, err
	}
	defer base.Close()
	info, err := base.Lstat(basedir.Name(w))
	if errors.Is(err, fs.ErrNotExist) {
		return git.Dirs{}, nil, fmt.Errorf("%s: %w", w.Root, model.ErrMissing)
	}
	if err != nil {
		return git.Dirs{}, nil, err
	}
	if !info.IsDir() {
		return git.Dirs{}, nil, fmt.Errorf("%s: not a directory any more: %w", w.Root, model.ErrMissing)
	}
	entry, err := entryOf(w)
	if err != nil {
		return git.Dirs{}, nil, err
	}
	p = git.Dirs{GitDir: entry, CommonDir: w.GitDir, WorkTree: w.Root}
	if err := CheckGitFile(w.Root, entry); err != nil {
		warnings = append(warnings, ".git: "+err.Error())
	}
	return p, warnings, nil
}

// checkoutOf returns the checkout that the user's directory dir lies in.
func checkoutOf(ctx context.Context, dir string) (git.Dirs, error) {
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return git.Dirs{}, fmt.Errorf("%s: %w", dir, model.ErrMissing)
	}
	ctx, cancel := context.WithTimeout(ctx, statusTime)
	defer cancel()
	repo, err := git.Discover(ctx, dir)
	if err != nil {
		return git.Dirs{}, err
	}
	// core.worktree can name any directory as the checkout.
	canonical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return git.Dirs{}, err
	}
	if below, err := filepath.Rel(repo.Here.WorkTree, canonical); err != nil || !filepath.IsLocal(below) {
		return git.Dirs{}, fmt.Errorf("%s: its repository says that its checkout is %s: %w", dir, plaintext.Quoted(repo.Here.WorkTree), model.ErrNotRepository)
	}
	return repo.Here, nil
}

// entryOf returns git's directory for the worktree of w. It usually has the
// worktree's name, so reading one file mostly suffices.
func entryOf(w model.Workspace) (string, error) {
	entry := filepath.Join(w.GitDir, "worktrees", w.ID)
	target, err := git.ReadPath(filepath.Join(entry, "gitdir"), entry)
	if err == nil && target == filepath.Join(w.Root, ".git") {
		return entry, nil
	}
	if entry, err = git.FindEntry(w.GitDir, w.ID, w.Root); err != nil {
		return "", err
	}
	if entry == "" {
		return "", fmt.Errorf("%s: its repository %s has no worktree there: %w", w.Root, w.GitDir, model.ErrMissing)
	}
	return entry, nil
}

// files fills in HEAD, branch, upstream and files from one git status.
func (s *Status) files(ctx context.Context, g *git.View) error {
	c := g.Look("status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal", "--no-renames", "--ignore-submodules=dirty")
	c.Limit = statusTime
	s.Files = &Files{}
	p := statusParser{status: s}
	c.Each = p.take
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if !p.answered {
		return c.Silent()
	}
	return s.upstream(p.ab)
}

// statusParser reads "git status --porcelain=v2 --branch -z".
type statusParser struct {
	status   *Status
	ab       string // the distance from the upstream, such as "+1 -2"
	answered bool
}

func (p *statusParser) take(record string) {
	kind, rest, _ := strings.Cut(record, " ")
	switch kind {
	case "#":
		p.answered = p.answered || strings.HasPrefix(rest, "branch.oid ")
		p.status.header(rest, &p.ab)
	case "1":
		p.status.Files.tracked(rest)
	case "u":
		p.status.Files.Conflicted++
	case "?":
		p.status.Files.Untracked++
	}
}

// tracked takes a record that begins with two letters: the state in the index,
// and in the checkout, such as ".M ...".
func (f *Files) tracked(rest string) {
	same, unchanged := strings.HasPrefix(rest, "."), len(rest) > 1 && rest[1] == '.'
	if !same {
		f.Staged++
	}
	if !unchanged {
		f.Changed++
	}
}

// header takes one header line of git status.
func (s *Status) header(line string, ab *string) {
	key, value, _ := strings.Cut(line, " ")
	switch {
	case key == "branch.oid" && value != "(initial)":
		s.Head = value
	case key == "branch.head" && value != "(detached)":
		s.Branch = plaintext.Quoted(value)
	case key == "branch.upstream":
		s.Upstream = &Distance{Of: plaintext.Quoted(value)}
	case key == "branch.ab":
		*ab = value
	}
}

// upstream parses "+1 -2". git omits it if the upstream branch is missing.
func (s *Status) upstream(ab string) error {
	if s.Upstream == nil {
		return nil
	}
	if ab == "" {
		if s.Head != "" {
			s.Unknown = append(s.Unknown, "upstream "+s.Upstream.Of+": there is no such branch here; it was deleted or never fetched")
		}
		s.Upstream = nil
		return nil
	}
	ahead, behind, _ := strings.Cut(ab, " ")
	var err1, err2 error
	s.Upstream.Ahead, err1 = strconv.Atoi(strings.TrimPrefix(ahead, "+"))
	s.Upstream.Behind, err2 = strconv.Atoi(strings.TrimPrefix(behind, "-"))
	return errors.Join(err1, err2)
}
