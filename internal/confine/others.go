package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/sandbox"
)

// others keeps the program from replacing the directories of other workspaces. git and the
// server, which are not confined, write there by path, and would follow a link. A
// directory in which one lies deeper could be renamed, so all of it is read-only.
func (b *builder) others() error {
	for _, other := range b.Others {
		for _, open := range b.policy.Writable {
			if other == open || !sandbox.Within(other, open) {
				continue
			}
			first, _, _ := strings.Cut(strings.TrimPrefix(other[len(open):], string(filepath.Separator)), string(filepath.Separator))
			if err := b.protect(filepath.Join(open, first), other); err != nil {
				return err
			}
		}
	}
	return nil
}

// protect makes path read-only, which leads to another workspace.
func (b *builder) protect(path, other string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) || slices.Contains(b.policy.ReadOnly, path) {
		return nil
	}
	own := b.policy.Writable[0]
	switch {
	case sandbox.Within(own, path):
		return fmt.Errorf("the sandbox lets a program change what leads to another workspace, %s: make neither that nor its own, %s, part of a writable directory", other, own)
	case b.Method == sandbox.Landlock:
		return fmt.Errorf("another workspace, %s, lies in a directory that the program may change, and Landlock cannot protect it: use bubblewrap, or delete that workspace", other)
	}
	b.policy.ReadOnly = append(b.policy.ReadOnly, path)
	b.note("%s is read-only in the sandbox: another workspace is in it", path)
	return nil
}
