package finish

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/git"
)

const (
	noMode      = "000000" // of a path that a commit does not have
	gitlinkMode = "160000" // of a submodule, or of another repository that was added
)

// errReplaced is ErrInUse because of repositories.
var errReplaced = fmt.Errorf("%w: the merge puts files in the place of repositories that are in it, with all that only these have", ErrInUse)

// checkReplaced refuses a merge that puts files in the place of a repository in the
// checkout: git would remove it whole, with its branches and what is ignored in it, though
// nothing there was changed.
func (c *checkout) checkReplaced(ctx context.Context, m *merge, where string) error {
	gone, err := replacedLinks(ctx, m.view, m.out.Before, m.out.After)
	if err != nil {
		return err
	}
	var full []string
	for _, path := range gone {
		entries, err := os.ReadDir(filepath.Join(c.dirs.WorkTree, filepath.FromSlash(path)))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look at what is in the place of a submodule: %w", err)
		}
		if len(entries) > 0 {
			full = append(full, path)
		}
	}
	if len(full) == 0 {
		return nil
	}
	return &FilesError{What: where, Err: errReplaced, Files: quoted(full), Hint: "move them away, or merge with git there"}
}

// replacedLinks returns the paths of gitlinks of one commit where another one has a file,
// or a file in place of a directory above, sorted.
func replacedLinks(ctx context.Context, g *git.View, from, to string) (replaced []string, err error) {
	if from == "" || from == to {
		return nil, nil
	}
	var links []string
	files := map[string]bool{}
	c := g.Look("diff-tree", "-r", "--raw", "-z", "--no-renames", from, to, "--")
	c.Limit = mergeTime
	meta := ""
	c.Again = func() { links, files, meta = nil, map[string]bool{}, "" }
	c.Each = func(record string) { // ":OLDMODE NEWMODE OLD NEW STATUS", then a path
		if meta == "" {
			meta = strings.TrimPrefix(record, ":")
			return
		}
		before, rest, _ := strings.Cut(meta, " ")
		after, _, _ := strings.Cut(rest, " ")
		if meta = ""; before == gitlinkMode && after != gitlinkMode {
			links = append(links, record)
		}
		if after != noMode {
			files[record] = true
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return nil, err
	}
	for _, path := range links {
		for at := path; at != "."; at = filepath.ToSlash(filepath.Dir(at)) {
			if files[at] {
				replaced = append(replaced, path)
				break
			}
		}
	}
	slices.Sort(replaced)
	return replaced, nil
}
