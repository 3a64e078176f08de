package look

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

const (
	maxReflog   = "--max-count=100000" // entries that git reads, newest first
	maxPlainLog = 64 << 10             // bytes of a reflog that we read ourselves to save a git process
	maxLog      = 64 << 20             // bytes of a file that git cannot read for us
)

// errReflog says that a reflog cannot be read.
var errReflog = errors.New("read a reflog")

// logged returns the commits that the reflogs of refs name. These are arguments of
// rev-list, and each ref has a commit. No refs is no error.
func logged(ctx context.Context, p git.Dirs, refs []string) ([]string, error) {
	if len(refs) == 0 {
		return nil, nil
	}
	var found []string
	c := p.Look(append([]string{"rev-list", "--walk-reflogs", "--no-commit-header", "--format=%H", maxReflog}, append(refs, "--")...)...)
	c.Lines = true
	c.Again = func() { found = nil }
	c.Each = func(commit string) { found = append(found, commit) }
	_, err := c.Run(ctx)
	slices.Sort(found)
	return slices.Compact(found), err
}

// withUnborn adds to list what the reflog of the HEAD at p names while HEAD has no
// commit, as after `git checkout --orphan`. git does not read the reflog then.
func withUnborn(p git.Dirs, list []string) ([]string, error) {
	more, err := plainLog(filepath.Join(p.GitDir, "logs", "HEAD"), maxLog)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: %w", errReflog, err)
	}
	return append(list, more...), nil
}

// plainLog returns the objects that a reflog names, where git stores refs in files.
func plainLog(file string, limit int64) ([]string, error) {
	log, err := plainfile.ReadFollowed(file, limit)
	if err != nil {
		return nil, err
	}
	var found []string
	for line := range strings.Lines(string(log)) {
		before, rest, _ := strings.Cut(line, " ")
		after, _, whole := strings.Cut(rest, " ")
		if !whole || !git.IsObjectID(before) || !git.IsObjectID(after) {
			return nil, fmt.Errorf("%s has an entry that is none: %s", file, plaintext.Quoted(line))
		}
		found = append(found, before, after)
	}
	slices.Sort(found)
	return slices.DeleteFunc(slices.Compact(found), func(object string) bool { return strings.Trim(object, "0") == "" }), nil
}
