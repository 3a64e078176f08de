package git

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Unfilled makes p.Index from HEAD and compares the checkout with it. It
// returns the files that are missing, and those that hold only the beginning of
// their content, as a killed git leaves them. at makes each git command from
// its arguments.
func (p Dirs) Unfilled(ctx context.Context, at func(args ...string) Command) (missing, cut []string, err error) {
	if _, err := at("read-tree", "-m", "HEAD").Run(ctx); err != nil {
		return nil, nil, err
	}
	if _, err := at("update-index", "-q", "--refresh").Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: some files differ
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
	list.Each = func(record string) { // alternates between a status letter and a path
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

// onlyBegun reports whether the file at path holds only the beginning of what
// git would write there. A file that is not regular counts as complete.
func onlyBegun(ctx context.Context, tree *os.Root, path string, at func(args ...string) Command) (bool, error) {
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

// comparer compares the bytes that are written to it with a file.
type comparer struct {
	file           io.Reader
	differs, ended bool // ended: the file is shorter than the written bytes
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

// begun reports whether the file is a proper prefix of the written bytes.
func (c *comparer) begun() bool { return c.ended && !c.differs }

// WithoutFilters returns settings that turn off the filters of the repository's
// own configuration, which a program in the workspace may have changed. If such
// a filter stores a file in another form than the checkout has, the file counts
// as changed when git has to read it. The filters of the user's own
// configuration stay on.
func (p Dirs) WithoutFilters(ctx context.Context) (map[string]string, error) {
	config := map[string]string{}
	scope := ""
	c := p.Look("config", "--null", "--show-scope", "--get-regexp", `^filter\..*\.(clean|smudge|process|required)$`)
	c.Each = func(record string) {
		if scope == "" {
			scope = record
			return
		}
		if key, _, _ := strings.Cut(record, "\n"); scope == "local" || scope == "worktree" {
			config[key] = ""
			if strings.HasSuffix(key, ".required") {
				config[key] = "false"
			}
		}
		scope = ""
	}
	if _, err := c.Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: no filter is set
		return nil, err
	}
	return config, nil
}
