package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plaintext"
)

// maxNested bounds how deep submodules are looked into.
const maxNested = 8

// submodulesHarmless is Harmless for the submodules of the checkout at p. Git enters
// each that is checked out, for a status or a commit of the checkout, and there it
// reads the submodule's own settings and runs its hooks.
func (v *Views) submodulesHarmless(ctx context.Context, p Dirs, nested int) error {
	var paths []string
	list := p.Look("ls-files", "--stage", "-z")
	list.Each = func(record string) { // "160000 <object> 0\t<path>"
		if head, path, _ := strings.Cut(record, "\t"); strings.HasPrefix(head, "160000 ") {
			paths = append(paths, path)
		}
	}
	if _, err := list.Run(ctx); err != nil {
		return err
	}
	if len(paths) > 0 && nested > maxNested {
		return errors.New("its submodules are nested too deep to look into")
	}
	for _, path := range paths {
		if err := v.submoduleHarmless(ctx, filepath.Join(p.WorkTree, filepath.FromSlash(path)), nested); err != nil {
			return fmt.Errorf("submodule %s: %w", plaintext.Quoted(path), err)
		}
	}
	return nil
}

// submoduleHarmless is submodulesHarmless for the one at root, and for its own.
func (v *Views) submoduleHarmless(ctx context.Context, root string, nested int) error {
	dot := filepath.Join(root, ".git")
	info, err := os.Lstat(dot)
	p := Dirs{GitDir: dot, CommonDir: dot, WorkTree: root}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // it is not checked out
	case err != nil:
		return err
	case info.Mode().IsRegular():
		if p.GitDir, err = ReadPath(dot, root); err != nil {
			return err
		}
		p.CommonDir = p.GitDir
	case !info.IsDir():
		return errors.New("its .git is neither a file nor a directory")
	}
	if _, err := os.Lstat(filepath.Join(p.GitDir, "commondir")); !errors.Is(err, fs.ErrNotExist) {
		return errors.New("it is a worktree of another repository")
	}
	if err := v.runsNothing(ctx, p, true); err != nil {
		return err
	}
	return v.submodulesHarmless(ctx, p, nested+1)
}

// runsNothing returns nil if the repository at p names no program: neither in its
// settings, nor as a hook.
func (v *Views) runsNothing(ctx context.Context, p Dirs, submodule bool) error {
	settings, err := v.settings(ctx, p, submodule)
	if err != nil {
		return err
	}
	if settings.risky {
		return errors.New("the repository's own configuration has settings that may run a program")
	}
	transport, err := TransportOf(ctx, p, true)
	if err != nil {
		return err
	}
	if transport.Partial {
		return errors.New("it is a partial clone: git may reach its remote at any time")
	}
	entries, err := os.ReadDir(filepath.Join(p.CommonDir, "hooks"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list hooks: %w", err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".sample") {
			return fmt.Errorf("the repository has the hook %s", plaintext.Quoted(entry.Name()))
		}
	}
	return nil
}
