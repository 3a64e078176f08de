package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

// maxSmall is the size limit in bytes of the files that hold a line or a few,
// git's and ours, and that we read whole.
const maxSmall = 64 << 10

// Repository is the repository that contains the user's current directory.
type Repository struct {
	Here Dirs   // the checkout that contains the current directory
	Main string // the top of the main checkout; for a bare repository its own directory, and where nobody knows it what git lists
}

// CheckDirectory returns an ErrBadRequest unless dir is the absolute path of a
// directory that can be found. The error says what is wrong with it.
func CheckDirectory(dir string) error {
	if !filepath.IsAbs(dir) || strings.ContainsRune(dir, 0) {
		return fmt.Errorf("directory %q: not an absolute path: %w", dir, ErrBadRequest)
	}
	if err := plainfile.CheckPath(dir); err != nil {
		return fmt.Errorf("directory %s: %w: %w", plaintext.Quoted(dir), err, ErrBadRequest)
	}
	info, err := os.Stat(dir)
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such directory: %w", plaintext.Quoted(dir), ErrBadRequest)
	case err != nil:
		return fmt.Errorf("%s: look at the directory: %w: %w", plaintext.Quoted(dir), err, ErrBadRequest)
	case !info.IsDir():
		return fmt.Errorf("%s: not a directory: %w", plaintext.Quoted(dir), ErrBadRequest)
	}
	return nil
}

// Discover finds the repository that contains dir, by git's own rules. If there
// is none it returns an ErrNotRepository. If git refuses it because another
// user owns it, it returns an ErrForeign. For a dir that git cannot be run in
// it returns the error of CheckDirectory.
func Discover(ctx context.Context, dir string) (Repository, error) {
	c := Command{Dir: dir, Args: []string{"rev-parse", "--path-format=absolute", "--git-dir", "--git-common-dir", "--show-toplevel"}}
	out, err := c.Line(ctx)
	if failed, ok := errors.AsType[*Error](err); ok {
		if err := CheckDirectory(dir); err != nil {
			return Repository{}, err
		}
		return discoverBare(ctx, dir, failed)
	}
	if err != nil {
		return Repository{}, err
	}
	paths := strings.Split(filepath.FromSlash(out), "\n") // git writes slashes on Windows too
	if len(paths) > 3 {
		return Repository{}, lineBreak(dir)
	}
	if len(paths) < 3 || slices.Contains(paths, "") {
		return Repository{}, c.Odd(out)
	}
	r := Repository{Here: Dirs{GitDir: paths[0], CommonDir: paths[1], WorkTree: paths[2]}, Main: paths[2]}
	if r.Here.GitDir != r.Here.CommonDir {
		trees, err := r.Here.Worktrees(ctx)
		if err != nil {
			return Repository{}, err
		}
		if r.Main, err = r.Here.MainCheckout(ctx, trees); err != nil {
			return Repository{}, err
		}
		r.Main = cmp.Or(r.Main, trees[0].Path)
	}
	return r, nil
}

// Subdir returns the path of dir relative to the top of the checkout. It
// returns "" for the top itself and for a directory outside the checkout.
func (r Repository) Subdir(dir string) string {
	canonical, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	subdir, err := filepath.Rel(r.Here.WorkTree, canonical)
	if err != nil || !filepath.IsLocal(subdir) || subdir == "." {
		return ""
	}
	return subdir
}

// lineBreak returns the error for a repository with a line break in its path:
// git cannot write such a path into the one-line files that locate a worktree.
func lineBreak(dir string) error {
	return fmt.Errorf("%s: a repository with a line break in its path cannot have worktrees; rename the directory: %w", plaintext.Quoted(dir), ErrBadRequest)
}

// explainDiscovery turns git's error into ErrNotRepository or ErrForeign, if it
// means one of these.
func explainDiscovery(dir string, failed *Error) error {
	switch {
	case strings.Contains(failed.Stderr, "not a git repository"):
		return fmt.Errorf("%s: %w", plaintext.Quoted(dir), ErrNotRepository)
	case strings.Contains(failed.Stderr, "dubious ownership"):
		_, named, _ := strings.Cut(failed.Stderr, " at '")
		if named = strings.TrimSuffix(named, "'"); named == "" {
			named = dir
		}
		return fmt.Errorf("%s: %w; if you trust who wrote it: git config --global --add safe.directory '%s'", plaintext.Quoted(dir), ErrForeign, plaintext.Quoted(named))
	}
	return failed
}

// discoverBare finds the bare repository at dir, or the one that dir/.git leads
// to, after git found no checkout and failed. git's rule about repositories of
// other users applies here too. discoverBare refuses a bare repository whose
// files an enclosing repository tracks: it came with a clone, and the user
// never agreed to its configuration.
func discoverBare(ctx context.Context, dir string, failed *Error) (Repository, error) {
	byName := strings.Contains(failed.Stderr, "cannot use bare repository")
	if !byName && !strings.Contains(failed.Stderr, "must be run in a work tree") {
		return Repository{}, explainDiscovery(dir, failed)
	}
	c := Command{Dir: dir, Args: []string{"-c", "safe.bareRepository=all", "rev-parse", "--path-format=absolute",
		"--is-bare-repository", "--git-common-dir"}}
	out, err := c.Line(ctx)
	if again, ok := errors.AsType[*Error](err); ok {
		return Repository{}, explainDiscovery(dir, again)
	}
	if err != nil {
		return Repository{}, err
	}
	bare, top, _ := strings.Cut(filepath.FromSlash(out), "\n")
	switch {
	case strings.Contains(top, "\n"):
		return Repository{}, lineBreak(dir)
	case top == "":
		return Repository{}, c.Odd(out)
	case bare != "true":
		return Repository{}, fmt.Errorf("%s: inside the git directory of a checkout; change to the checkout: %w", plaintext.Quoted(dir), ErrNotRepository)
	case byName && !SameDir(dir, top):
		return Repository{}, fmt.Errorf("%s: inside the bare repository %s; change to its top directory: %w", plaintext.Quoted(dir), plaintext.Quoted(top), ErrNotRepository)
	case byName:
		if err := checkEmbedded(ctx, top); err != nil {
			return Repository{}, err
		}
	}
	return Repository{Here: Whole(top), Main: top}, nil
}

// checkEmbedded refuses a bare repository that an enclosing repository tracks.
func checkEmbedded(ctx context.Context, top string) error {
	around, err := Discover(ctx, filepath.Dir(top))
	if errors.Is(err, ErrNotRepository) || err == nil && around.Here.WorkTree == "" {
		return nil
	}
	if err != nil {
		return err
	}
	tracked := false
	c := around.Here.Look("ls-files", "-z", "--", ":(top,literal)"+relativeTo(around.Here.WorkTree, top))
	c.Each = func(string) { tracked = true }
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if tracked {
		return fmt.Errorf("%s: a bare repository whose files %s tracks; clone it to another directory first: %w",
			plaintext.Quoted(top), plaintext.Quoted(around.Main), ErrNotRepository)
	}
	return nil
}

// relativeTo returns path as git names it in a checkout at top.
func relativeTo(top, path string) string {
	if canonical, err := filepath.EvalSymlinks(path); err == nil {
		path = canonical
	}
	below, err := filepath.Rel(top, path)
	if err != nil {
		return path
	}
	return filepath.ToSlash(below)
}

// Whole returns the Dirs of a repository without a checkout, for work that
// concerns no worktree.
func Whole(commonDir string) Dirs {
	return Dirs{GitDir: commonDir, CommonDir: commonDir}
}

// SameDir reports whether both paths name the same directory.
func SameDir(a, b string) bool {
	if filepath.Clean(a) == filepath.Clean(b) {
		return true
	}
	one, err1 := os.Stat(a)
	two, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(one, two)
}
