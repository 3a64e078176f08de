package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/contain"
	"middleman/internal/fault"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

const (
	// heldUpAfter is how long git may run before we search for a file that
	// keeps it waiting. Most commands end sooner and cost no search.
	heldUpAfter = time.Second
	blameTime   = time.Second // limit of the search after git has failed
	oddSize     = 64 << 20    // bytes; git reads these files whole
)

// ErrHeldUp says that git waited for a pipe or a device, or that a file is too
// large for git to read.
var ErrHeldUp = errors.New("git waits for it; remove it")

// readAnywhere are the files that git reads in every directory of a checkout.
var readAnywhere = []string{".gitignore", ".gitattributes", ".gitmodules", ".mailmap", ".lfsconfig"}

// watched starts a goroutine that searches once, after heldUpAfter, for a file
// that keeps git waiting. If it finds one it cancels git: it calls end with an
// ErrHeldUp. stop ends the goroutine and waits for it.
func (c Command) watched(ctx context.Context, end context.CancelCauseFunc) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() {
		after := time.NewTimer(heldUpAfter)
		defer after.Stop()
		select {
		case <-after.C:
		case <-ctx.Done():
			return
		}
		if err := contain.Call(func() error { return c.findHeldUp(ctx) }); err != nil {
			end(err)
		}
	})
	return func() {
		cancel()
		wait.Wait()
	}
}

// findHeldUp returns an ErrHeldUp that names the file which keeps c waiting, or
// nil if it finds none.
func (c Command) findHeldUp(ctx context.Context) error {
	fault.Here("look/held-up")
	for n, dir := range c.places() {
		var odd *heldUp
		if c.Reads != nil || isGitDir(dir) {
			odd = oddGitFile(ctx, dir, c.Reads != nil && n == 0)
		} else {
			odd = oddFile(ctx, dir)
		}
		if odd != nil {
			return odd
		}
	}
	return nil
}

// places returns the directories that c reads.
func (c Command) places() []string {
	if c.Reads != nil {
		return c.Reads
	}
	places := slices.Clone(c.shown)
	for _, pair := range c.Env {
		name, value, _ := strings.Cut(pair, "=")
		if value != "" && slices.Contains([]string{"GIT_DIR", "GIT_COMMON_DIR", "GIT_WORK_TREE"}, name) {
			places = append(places, value)
		}
	}
	if len(places) == 0 {
		places = []string{c.Dir, filepath.Join(c.Dir, ".git")}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// isGitDir reports whether dir is a git directory: of a repository or of a
// worktree.
func isGitDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, ".git"))
	return err != nil
}

// Blame adds to err the name of a file below dir that may be the cause, such as
// a huge .gitignore, which git reads into memory. It does so if git was stopped
// at its deadline or exited with 128 or more; other errors it returns
// unchanged. It searches for at most a second.
func Blame(err error, dir string) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && ExitCode(err) < 128 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), blameTime)
	defer cancel()
	odd := oddFile(ctx, dir)
	if odd == nil {
		return err
	}
	return fmt.Errorf("%w (%s)", err, odd.why)
}

// oddFile finds a readAnywhere file below dir that git cannot read, or returns nil. It
// names it by its path below dir.
func oddFile(ctx context.Context, dir string) (found *heldUp) {
	// Errors are ignored: a directory that cannot be read is skipped.
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		if err != nil || !slices.Contains(readAnywhere, entry.Name()) {
			return nil
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if info, err := entry.Info(); err == nil && info.Mode()&fs.ModeSymlink == 0 { // git follows no link at these names
			if found = oddity(below, info); found != nil {
				found.path = path
			}
		}
		if found != nil {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// oddGitFile finds a file in the git directory dir that git cannot read, or one
// that the configuration there names, or returns nil. It looks first at those that git
// always reads. alone is as for CheckFiles.
func oddGitFile(ctx context.Context, dir string, alone bool) *heldUp {
	found := oddOpened(ctx, dir, alone)
	if found == nil {
		found = oddIncluded(ctx, filepath.Join(dir, "config"), filepath.Join(dir, "config.worktree"))
	}
	if found != nil {
		return found
	}
	return oddAnywhere(ctx, dir)
}

// maxIncludes bounds how many configuration files are searched for what they name.
const maxIncludes = 100

// oddIncluded finds a file that configuration files name, however indirectly, and that
// git cannot read.
func oddIncluded(ctx context.Context, configs ...string) *heldUp {
	for n := 0; n < len(configs) && n < maxIncludes && ctx.Err() == nil; n++ {
		for _, path := range namedBy(configs[n]) {
			if odd := oddAt(path); odd != nil {
				return odd
			}
			if !slices.Contains(configs, path) {
				configs = append(configs, path)
			}
		}
	}
	return nil
}

// oddAt is oddity for the file at path, after following links.
func oddAt(path string) *heldUp {
	info, err := os.Stat(path)
	if err != nil {
		return nil
	}
	return oddity(path, info)
}

// oddity says why git cannot read the file, or returns nil.
func oddity(name string, info fs.FileInfo) *heldUp {
	if info.Mode().IsRegular() && info.Size() > oddSize && slices.Contains(readAnywhere, filepath.Base(name)) {
		return tooLarge(name, plaintext.Quoted(name), info)
	}
	return oddAs(name, info)
}

// pathSetting matches a setting that may name a file which git reads.
var pathSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(?:\[[^\]\n]*\]\s*)?(?:path|excludesfile|attributesfile|file)\s*=\s*"?([^"\n#;]+?)"?\s*$`)
})

// namedBy returns the files that a configuration file may tell git to read.
func namedBy(config string) (paths []string) {
	text, err := plainfile.ReadFollowed(config, maxConfig)
	if err != nil {
		return nil
	}
	for _, match := range pathSetting().FindAllSubmatch(text, -1) {
		path := string(match[1])
		if below, is := strings.CutPrefix(path, "~/"); is {
			home, err := os.UserHomeDir()
			if err != nil {
				continue
			}
			path = filepath.Join(home, below)
		} else if !filepath.IsAbs(path) {
			path = filepath.Join(filepath.Dir(config), path)
		}
		paths = append(paths, path)
	}
	return paths
}
