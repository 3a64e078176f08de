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
	// heldUpAfter is how long git may take before it is looked for what keeps
	// it waiting. Until then the search costs nothing.
	heldUpAfter = time.Second
	blameTime   = time.Second // for the search once git has given up
	oddSize     = 64 << 20    // of a file that is read whole
)

// ErrHeldUp says that git waited for a file that is a pipe or a device, or that
// is too large to read.
var ErrHeldUp = errors.New("git waits for it; remove it")

// readAnywhere are the files of a checkout that git reads wherever they lie.
var readAnywhere = []string{".gitignore", ".gitattributes", ".gitmodules", ".mailmap", ".lfsconfig"}

// watched ends, by end, a git that something odd in the files that it reads
// keeps waiting. stop ends the watch and waits for that.
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

// findHeldUp returns an ErrHeldUp where something keeps c waiting.
func (c Command) findHeldUp(ctx context.Context) error {
	fault.Here("look/held-up")
	if what := c.heldUpBy(ctx); what != "" {
		return fmt.Errorf("%s: %w", what, ErrHeldUp)
	}
	return nil
}

// heldUpBy says what of the files that c reads no git can read, or "".
func (c Command) heldUpBy(ctx context.Context) string {
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
	for _, dir := range slices.Compact(places) {
		what := ""
		if isGitDir(dir) {
			what = oddGitFile(ctx, dir)
		} else {
			what = oddFile(ctx, dir)
		}
		if what != "" {
			return what
		}
	}
	return ""
}

// isGitDir reports whether dir is git's own, for a repository or a worktree.
func isGitDir(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, "HEAD"))
	if err != nil {
		return false
	}
	_, err = os.Lstat(filepath.Join(dir, ".git"))
	return err != nil
}

// Blame adds to err, of a git that was stopped or gave up, a file below dir
// that may be the cause: git takes a .gitignore of any size into memory.
func Blame(err error, dir string) error {
	if err == nil || !errors.Is(err, context.DeadlineExceeded) && ExitCode(err) < 128 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), blameTime)
	defer cancel()
	odd := oddFile(ctx, dir)
	if odd == "" {
		return err
	}
	return fmt.Errorf("%w (%s)", err, odd)
}

// oddFile is one of the files of a checkout that git reads wherever they lie,
// and cannot read, with why; or "".
func oddFile(ctx context.Context, dir string) (found string) {
	// Only what was found counts; a directory that cannot be read is passed over.
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
		if info, err := entry.Info(); err == nil && info.Mode()&fs.ModeSymlink == 0 { // git follows none of these
			found = oddity(below, info)
		}
		if found != "" {
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// oddGitFile is what in git's own directory no git can read, with why; or "".
// What the configuration includes belongs to it.
func oddGitFile(ctx context.Context, dir string) (found string) {
	_ = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return fs.SkipAll
		}
		if err != nil {
			return nil
		}
		if !entry.Type().IsRegular() && !entry.IsDir() {
			found = oddAt(path)
		}
		if found != "" {
			return fs.SkipAll
		}
		return nil
	})
	for _, name := range []string{"config", "config.worktree"} {
		for _, path := range namedBy(filepath.Join(dir, name)) {
			if found == "" {
				found = oddAt(path)
			}
		}
	}
	return found
}

// oddAt is what is at path, or where a link there leads, if no git can read it.
func oddAt(path string) string {
	info, err := os.Stat(path)
	if err != nil {
		return ""
	}
	return oddity(path, info)
}

// oddity says what no git can read, or "". It does not open a socket.
func oddity(name string, info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode&(fs.ModeNamedPipe|fs.ModeDevice|fs.ModeCharDevice) != 0 && name != os.DevNull:
		return plaintext.Quoted(name) + " is " + plainfile.Kind(mode) + ", no file"
	case mode.IsRegular() && info.Size() > oddSize && slices.Contains(readAnywhere, filepath.Base(name)):
		return fmt.Sprintf("%s has %d MiB", plaintext.Quoted(name), info.Size()>>20)
	}
	return ""
}

// pathSetting is a setting that may name a file which git reads.
var pathSetting = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?im)^\s*(?:\[[^\]\n]*\]\s*)?(?:path|excludesfile|attributesfile|file)\s*=\s*"?([^"\n#;]+?)"?\s*$`)
})

// namedBy are the files that a configuration may have git read.
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
