package quarantine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/workspace/model"
)

// Errors that a caller can branch on. Each error that wraps one of them is one line
// that says what to do.
var (
	// ErrUnreadable: git cannot read the private directory, because a program in the
	// sandbox has damaged it. Nothing of it was imported.
	ErrUnreadable = errors.New("git cannot read what the sandbox holds")
	// ErrPending: the private directory has something that the repository has not.
	ErrPending = errors.New("the sandbox holds work that is not imported")
	// errNoRepository: the workspace is in no repository.
	errNoRepository = errors.New("the workspace is in no git repository")
)

// GitDirectory is the name of the private git directory in that of a quarantine.
const GitDirectory = "git"

// Other names in the directory of a quarantine. Sessions can write to git/ alone.
const (
	makingName = "git.making"  // one that is not complete yet
	brokenName = "git.broken-" // and a number: one that git could not read
	baseName   = "base"        // where a sandbox shows the repository's objects
	blankName  = "blank"       // an empty file
	recordName = "record.json"
	lockName   = "lock"
	openName   = "open"    // says that sessions could make a .git, and which one they made
	tempName   = "reading" // and a random number: files of one Import
)

// lockTime is how long a call waits for another one on the same quarantine.
const lockTime = 2 * time.Minute

// Quarantine is the private git directory of one workspace, made or not. Its methods
// may be called at the same time, also by several processes.
type Quarantine struct {
	dir    string
	w      model.Workspace
	method sandbox.Method
	hidden func(context.Context) ([]string, error)
}

// At returns the quarantine of w in dir, a private directory that it alone uses and
// that need not exist. git reads it in a sandbox of that method, which this executable
// makes: sandbox.IsHelper and sandbox.Main are to be called first in its main. hidden
// returns what that sandbox hides, as a policy has it: all that the sessions of w must not
// read, because what git reads there comes into the repository, which they do read.
//
// A directory that is no workspace of a repository may have one of its own, see adopt.
func At(dir string, w model.Workspace, method sandbox.Method, hidden func(context.Context) ([]string, error)) *Quarantine {
	q := &Quarantine{dir: dir, w: w, method: method, hidden: hidden}
	if real, err := filepath.EvalSymlinks(w.Root); err == nil {
		q.w.Root = real
	}
	q.adopt()
	return q
}

func (q *Quarantine) path(name string) string { return filepath.Join(q.dir, name) }

// lock takes the lock of the quarantine. The caller closes it.
func (q *Quarantine) lock(ctx context.Context) (*private.Lock, error) {
	if err := private.MakeDir(q.dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, lockTime, errors.New("another import of this workspace is still at work: try again later"))
	defer cancel()
	return private.AwaitLock(ctx, q.path(lockName))
}

// exists reports whether the private git directory was made.
func (q *Quarantine) exists() (bool, error) {
	_, err := os.Lstat(q.path(GitDirectory))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// site is where the workspace's repository and its checkout are.
type site struct {
	git.Dirs        // canonical
	entry    string // git's directory for the checkout relative to CommonDir, "." in the main checkout
	gone     bool   // the checkout was removed: GitDir is CommonDir
}

// site finds the repository. The .git of the checkout must lead there: a program that
// ran in the workspace without a sandbox may have replaced it.
func (q *Quarantine) site() (site, error) {
	if q.w.GitDir == "" {
		return site{}, fmt.Errorf("workspace %s: %w", plaintext.Quoted(q.w.Name), errNoRepository)
	}
	common, err := filepath.EvalSymlinks(q.w.GitDir)
	if err != nil {
		return site{}, fmt.Errorf("find the repository of workspace %s: %w", plaintext.Quoted(q.w.Name), err)
	}
	gitDir, err := git.CheckoutDir(common, q.w.Root)
	if err != nil {
		return site{}, fmt.Errorf("find git's directory for %s: %w", plaintext.Quoted(q.w.Root), err)
	}
	if dot := filepath.Join(q.w.Root, ".git"); isLink(dot) {
		return site{}, fmt.Errorf("%s is a symbolic link, which a sandboxed session cannot have: use a workspace with a worktree, or put a file there with the line \"gitdir: %s\"", plaintext.Quoted(dot), plaintext.Quoted(common))
	}
	entry, err := filepath.Rel(common, gitDir)
	if err != nil || !filepath.IsLocal(entry) {
		return site{}, fmt.Errorf("find git's directory for %s: %s is not in %s: %w", plaintext.Quoted(q.w.Root), plaintext.Quoted(gitDir), plaintext.Quoted(common), git.ErrElsewhere)
	}
	return site{Dirs: git.Dirs{GitDir: gitDir, CommonDir: common, WorkTree: q.w.Root}, entry: entry}, nil
}

func isLink(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSymlink != 0
}

// siteOf is site for a private directory that was made, whose checkout may be removed.
func (q *Quarantine) siteOf(r record) (site, error) {
	s, err := q.site()
	if errors.Is(err, fs.ErrNotExist) {
		if _, there := os.Lstat(q.w.Root); errors.Is(there, fs.ErrNotExist) {
			common, err := filepath.EvalSymlinks(q.w.GitDir)
			return site{Dirs: git.Whole(common), entry: r.Entry, gone: true}, err
		}
	}
	if err == nil && s.entry != r.Entry {
		err = fmt.Errorf("git's directory for %s is %s now, and was %s: %w", plaintext.Quoted(q.w.Root), plaintext.Quoted(s.entry), plaintext.Quoted(r.Entry), git.ErrElsewhere)
	}
	return s, err
}

// open opens the private git directory. Links in it lead nowhere else.
func (q *Quarantine) open() (*os.Root, error) { return os.OpenRoot(q.path(GitDirectory)) }
