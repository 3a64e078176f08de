package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Harmless returns nil if git that somebody runs in the checkout at root finds
// the repository whose common directory is commonDir, and runs no program that
// this repository, or a submodule that is checked out, names: in its settings, or as
// a hook. Else the error says why not, on one line.
func (v *Views) Harmless(ctx context.Context, commonDir, root string) error {
	gitDir, err := CheckoutDir(commonDir, root)
	if err != nil {
		return err
	}
	p := Dirs{GitDir: gitDir, CommonDir: commonDir, WorkTree: root}
	if err := v.runsNothing(ctx, p, false); err != nil {
		return err
	}
	if err := v.submodulesHarmless(ctx, p, 0); err != nil {
		return err
	}
	return usersHooks(ctx, p)
}

// CheckoutDir returns the git directory of the checkout at root, if the .git there
// leads to it. Else the error is ErrElsewhere, or says why that cannot be told.
func CheckoutDir(commonDir, root string) (string, error) {
	dot := filepath.Join(root, ".git")
	elsewhere := fmt.Errorf("%s: %w: move it away, and `git worktree repair` in the repository makes it anew", dot, ErrElsewhere)
	info, err := os.Lstat(dot)
	switch {
	case err != nil:
		return "", err
	case info.IsDir() && SameDir(dot, commonDir):
		return commonDir, nil
	case isMainCheckout(root, commonDir):
		if entry, err := FindEntry(commonDir, "", root); err != nil || entry != "" {
			return "", cmp.Or(err, elsewhere) // in a worktree git puts no such thing
		}
		return commonDir, nil
	case !info.Mode().IsRegular():
		return "", elsewhere
	}
	named, err := ReadPath(dot, root)
	if err != nil {
		return "", err
	}
	entry, err := FindEntry(commonDir, filepath.Base(named), root)
	if err != nil {
		return "", err
	}
	if entry == "" || !SameDir(named, entry) {
		return "", elsewhere
	}
	common, err := ReadPath(filepath.Join(entry, "commondir"), entry)
	if err != nil {
		return "", err
	}
	if !SameDir(common, commonDir) {
		return "", elsewhere
	}
	return entry, nil
}

// usersHooks returns an error if the user's or the system's settings name a
// directory of hooks: such hooks read files of the checkout, and may run them.
func usersHooks(ctx context.Context, p Dirs) error {
	var scopes []string
	list := p.Look("config", "--null", "--show-scope", "--get-all", "core.hookspath")
	list.Each = func(record string) { scopes = append(scopes, record) }
	if _, err := list.Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: it is not set
		return err
	}
	for i := 0; i < len(scopes); i += 2 { // a scope, then a value
		if scopes[i] == "global" || scopes[i] == "system" {
			return errors.New("your own settings of git name hooks (core.hooksPath)")
		}
	}
	return nil
}
