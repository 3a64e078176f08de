package confine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

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
			if err := b.protect(sandbox.Top(other, open), other); err != nil {
				return err
			}
		}
	}
	return nil
}

// protect makes path read-only, which leads to another workspace.
func (b *builder) protect(path, other string) error {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return b.keep(path, kept{
		note:   fmt.Sprintf("%s is read-only in the sandbox: another workspace is in it", path),
		around: fmt.Sprintf("the sandbox lets a program change what leads to another workspace, %s: make neither that nor its own, %s, part of a writable directory", other, b.policy.Writable[0]),
		cannot: fmt.Sprintf("another workspace, %s, lies in a directory that the program may change, and Landlock cannot protect it: use bubblewrap, or delete that workspace", other),
	})
}

// kept says why a part of a writable directory is read-only. The session is refused with
// around if its own workspace lies in that part, and with cannot if there are no mounts.
type kept struct{ note, around, cannot string }

// keep makes path read-only, which is an entry of a writable directory.
func (b *builder) keep(path string, why kept) error {
	switch {
	case slices.Contains(b.policy.ReadOnly, path):
		return nil
	case sandbox.Within(b.policy.Writable[0], path):
		return errors.New(why.around)
	case b.Method == sandbox.Landlock:
		return errors.New(why.cannot)
	}
	b.policy.ReadOnly = append(b.policy.ReadOnly, path)
	b.note("%s", why.note)
	return nil
}

// isBound reports whether the program sees something else at path than what is there.
func (b *builder) isBound(path string) bool {
	return slices.ContainsFunc(b.policy.Binds, func(bind sandbox.Bind) bool { return sandbox.Within(path, bind.To) })
}
