package workspace

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/git"
)

// filledIndex is the index of a checkout that goes on where another was cut
// short, until that is whole.
const filledIndex = "middleman-index"

// fillUp goes on with a checkout that was cut short: files that are missing,
// and those of which only the beginning is there. All else that is not as git
// has it was written by somebody, and stays.
func (c *checkout) fillUp(ctx context.Context) error {
	index := filepath.Join(c.at.GitDir, filledIndex)
	c.at.Index = index
	defer func() { c.at.Index = "" }()
	missing, cut, err := half(ctx, c.at, c.alter)
	if err != nil {
		return err
	}
	if err := c.write(ctx, missing); err != nil {
		return err
	}
	if err := c.write(ctx, cut, "--force"); err != nil {
		return err
	}
	return os.Rename(index, filepath.Join(c.at.GitDir, "index"))
}

// write has git write files.
func (c *checkout) write(ctx context.Context, paths []string, flags ...string) error {
	if len(paths) == 0 {
		return nil
	}
	git := c.alter(append([]string{"checkout-index", "-z", "--index", "--stdin"}, flags...)...)
	git.Stdin = strings.NewReader(strings.Join(paths, "\x00") + "\x00")
	_, err := git.Run(ctx)
	return err
}

// half makes p.index, of what HEAD has, and returns which of its files are
// missing, and of which only the beginning is there, as git leaves a file that
// it was killed at.
func half(ctx context.Context, p git.Dirs, at func(args ...string) git.Command) (missing, cut []string, err error) {
	if _, err := at("read-tree", "-m", "HEAD").Run(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := at("update-index", "-q", "--refresh").Run(ctx); err != nil && git.ExitCode(err) != 1 { // 1: some differ
		return nil, nil, err
	}
	tree, err := os.OpenRoot(p.WorkTree)
	if err != nil {
		return nil, nil, err
	}
	defer tree.Close()
	var changed []string
	status := ""
	list := at("diff-files", "--name-status", "-z", "--no-renames", "--no-ext-diff", "--ignore-submodules=dirty")
	list.Each = func(record string) { // a letter and a path, in turn
		switch {
		case status == "":
			status = record
			return
		case status == "D":
			missing = append(missing, record)
		default:
			changed = append(changed, record)
		}
		status = ""
	}
	if _, err := list.Run(ctx); err != nil {
		return nil, nil, err
	}
	for _, path := range changed {
		begun, err := onlyBegun(ctx, tree, path, at)
		if err != nil {
			return nil, nil, err
		}
		if begun {
			cut = append(cut, path)
		}
	}
	return missing, cut, nil
}

// onlyBegun reports whether the file at path has nothing but the beginning of
// what git would write there.
func onlyBegun(ctx context.Context, tree *os.Root, path string, at func(args ...string) git.Command) (bool, error) {
	if info, err := tree.Lstat(filepath.FromSlash(path)); err != nil || !info.Mode().IsRegular() {
		return false, err
	}
	file, err := tree.Open(filepath.FromSlash(path))
	if err != nil {
		return false, err
	}
	defer file.Close()
	same := &comparer{file: file}
	whole := at("cat-file", "--filters", ":"+path)
	whole.Output = same
	_, err = whole.Run(ctx)
	return same.begun(), err
}

// comparer compares what is written to it with a file.
type comparer struct {
	file           io.Reader
	differs, ended bool // the file ended before what is written did
}

func (c *comparer) Write(p []byte) (int, error) {
	if c.differs || c.ended {
		return len(p), nil
	}
	content := make([]byte, len(p))
	n, err := io.ReadFull(c.file, content)
	c.ended = errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	c.differs = err != nil && !c.ended || !bytes.Equal(content[:n], p[:n])
	return len(p), nil
}

// begun reports whether the file is a beginning, and not all, of it.
func (c *comparer) begun() bool { return c.ended && !c.differs }
