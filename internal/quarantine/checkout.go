package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/dirid"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/workspace/model"
)

// A checkout may have its repository in it: the main one of a repository, and a directory
// in which the user has made or cloned one. There the private directory lies over .git,
// which as a mount can be neither renamed nor replaced.

// dotGit is the .git of the workspace.
func (q *Quarantine) dotGit() string { return filepath.Join(q.w.Root, ".git") }

// adopt takes a repository that lies in a workspace without one for the user's: no
// sandboxed session has begun there as long as there was no .git.
func (q *Quarantine) adopt() {
	if q.w.GitDir != "" || q.w.Mode == model.ModeWorktree {
		return
	}
	if _, err := os.Lstat(q.path(openName)); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	if info, err := os.Lstat(q.dotGit()); err == nil && info.IsDir() {
		q.w.GitDir = q.dotGit()
	}
}

// withoutRepository returns what a session of a workspace without a repository needs. From
// then on a .git there is not the user's: the one that a program made stays as untrusted as
// the program, and it can go on with it. Any other is read-only.
func (q *Quarantine) withoutRepository() (Access, error) {
	_, err := os.Lstat(q.dotGit())
	if errors.Is(err, fs.ErrNotExist) {
		return Access{}, private.Replace(q.path(openName), nil, private.Durable)
	}
	if err != nil {
		return Access{}, err
	}
	dir := plaintext.Quoted(q.dotGit())
	if made, err := private.ReadFile(q.path(openName)); err == nil && len(made) > 0 && string(made) == dirid.Of(q.dotGit()) {
		return Access{Notes: []string{dir + " was made in the sandbox: git of yours that runs there runs what its settings name"}}, nil
	}
	return Access{ReadOnly: []string{q.dotGit()}, Notes: []string{
		dir + " is read-only in the sandbox, so git cannot commit there: it may be yours, and was made after sandboxed sessions began here; a worktree of it (`middleman new`) can"}}, nil
}

// NoteMade remembers the .git that a running session has made in a workspace without a
// repository. It may be called at any time while a sandboxed session runs, and at its end.
func (q *Quarantine) NoteMade() error {
	if q.w.GitDir != "" {
		return nil
	}
	before, err := private.ReadFile(q.path(openName))
	if err != nil {
		return nil // no session could make one
	}
	made := dirid.Of(q.dotGit())
	if made == "" || string(before) == made {
		return nil
	}
	return private.Replace(q.path(openName), []byte(made), private.ThisBoot)
}

// guard protects what else git of the user's may take settings from in a checkout that has
// the repository in it: files that settings include, and other worktrees.
func (s site) guard(ctx context.Context, a *Access) error {
	included, err := s.included(ctx)
	if err != nil {
		return err
	}
	protected := map[string]bool{}
	for _, path := range included {
		if err := s.guardFile(path, protected); err != nil {
			return err
		}
	}
	trees, err := git.Whole(s.CommonDir).Worktrees(ctx)
	if err != nil {
		return err
	}
	for n, tree := range trees {
		if n == 0 && (s.entry == "." || git.SameDir(tree.Path, s.CommonDir)) {
			continue // it is this checkout, or git does not know where it is
		}
		rest, err := filepath.Rel(s.WorkTree, tree.Path)
		if real, evalErr := filepath.EvalSymlinks(tree.Path); err != nil || evalErr != nil || real != tree.Path || rest == "." || !filepath.IsLocal(rest) {
			continue
		}
		if top := sandbox.Top(tree.Path, s.WorkTree); !protected[top] {
			protected[top] = true
			a.Notes = append(a.Notes, plaintext.Quoted(filepath.Base(top))+" is read-only in the sandbox: it has a worktree of the repository")
		}
	}
	a.ReadOnly = append(a.ReadOnly, sortedKeys(protected)...)
	return nil
}

// included returns the files that settings of git include for this repository, whether
// they exist or not.
func (s site) included(ctx context.Context) (paths []string, err error) {
	list := s.Look("config", "--null", "--show-origin", "--get-regexp", `^include(if\..*)?\.path$`)
	home, _ := os.UserHomeDir() // without one git expands none
	var records []string        // alternates between "file:PATH" and "key\nvalue"
	list.Again = func() { records = nil }
	list.Each = func(record string) { records = append(records, record) }
	if _, err := list.Run(ctx); err != nil && git.ExitCode(err) != 1 { // status 1: there are none
		return nil, err
	}
	for pair := range slices.Chunk(records, 2) {
		_, value, _ := strings.Cut(pair[len(pair)-1], "\n")
		more, err := git.IncludedPaths(ctx, value, strings.TrimPrefix(pair[0], "file:"), home)
		if err != nil {
			return nil, err
		}
		paths = append(paths, more...)
	}
	return paths, nil
}

// guardFile adds what protects a file, if that lies in the checkout: the name in its top
// that leads to it, because a directory further below could be replaced.
func (s site) guardFile(path string, protected map[string]bool) error {
	places := []string{path}
	if real, err := filepath.EvalSymlinks(path); err == nil && real != path {
		places = append(places, real)
	}
	for _, place := range places {
		if !sandbox.Within(place, s.WorkTree) || sandbox.Within(place, s.CommonDir) {
			continue
		}
		top := sandbox.Top(place, s.WorkTree)
		if info, err := os.Lstat(top); err != nil || info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("git's settings include %s, and a program in the sandbox could put a file there that your git takes settings from: remove that include, make the file, or use a worktree (`middleman new`)", plaintext.Quoted(path))
		}
		protected[top] = true
	}
	return nil
}
