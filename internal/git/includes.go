package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/private"
)

// ConsentedTransport is TransportOf for a user who may have agreed to the programs that the
// repository's own configuration names. That is no consent to what another user can choose:
// the configuration, what it includes, whatever the condition, and the checkout's .git must
// be private.Trusted, also where safe.directory lists the repository. The error names what
// is not and is a plainfile.ErrRefused.
func ConsentedTransport(ctx context.Context, p Dirs, agreed bool) (Transport, error) {
	if agreed {
		if err := p.checkOwn(ctx); err != nil {
			return Transport{agreed: agreed}, err
		}
	}
	return TransportOf(ctx, p, agreed)
}

// checkOwn returns an error if another user can change which settings the repository has.
func (p Dirs) checkOwn(ctx context.Context) error {
	if p.WorkTree != "" {
		if err := checkSettings(filepath.Join(p.WorkTree, ".git")); err != nil {
			return err
		}
	}
	files := []string{filepath.Join(p.CommonDir, "config"), filepath.Join(p.CommonDir, "config.worktree"), filepath.Join(p.GitDir, "config.worktree")}
	for _, file := range append(slices.Clone(files), filepath.Join(p.GitDir, "commondir")) { // which leads to the others
		if err := checkSettings(file); err != nil {
			return err
		}
	}
	return checkIncludes(ctx, files)
}

// checkSettings returns an error if another user can change what is at path, or put
// something there.
func checkSettings(path string) error {
	err := private.Trusted(path)
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return fmt.Errorf("%w; --filters is for settings that nobody else can change, also where safe.directory lists the repository: "+
		"put a copy of your own there, or use `git config --global`: %w", err, plainfile.ErrRefused)
}

// checkIncludes returns an error if another user can change a file that files include.
func checkIncludes(ctx context.Context, files []string) error {
	for n := 0; n < len(files); n++ {
		paths, err := includedBy(ctx, files[n])
		if err != nil {
			return err
		}
		for _, path := range paths {
			switch err := private.Trusted(path); {
			case errors.Is(err, fs.ErrNotExist), err == nil && slices.Contains(files, path):
				continue
			case err != nil:
				return fmt.Errorf("%w; %s includes it: keep a copy of your own, and include that: %w", err, plaintext.Quoted(files[n]), plainfile.ErrRefused)
			case len(files) > maxIncluded:
				return fmt.Errorf("the repository's configuration includes more than %d files: %w", maxIncluded, plainfile.ErrRefused)
			}
			files = append(files, path)
		}
	}
	return nil
}

// includedBy returns what one file of settings includes.
func includedBy(ctx context.Context, file string) (paths []string, err error) {
	if text, err := plainfile.ReadFollowed(file, maxConfig); err != nil || len(text) == 0 {
		if errors.Is(err, fs.ErrNotExist) || err == nil {
			return nil, nil
		}
		return nil, fmt.Errorf("read configuration: %w", err)
	}
	c := Command{Dir: filepath.Dir(file), Args: []string{"config", "--null", "--file", file, "--no-includes", "--get-regexp", `^include(if\..*)?\.path$`}}
	var values []string
	c.Again = func() { values = nil }
	c.Each = func(record string) {
		_, value, _ := strings.Cut(record, "\n")
		values = append(values, value)
	}
	if _, err := c.Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: there are none
		return nil, err
	}
	for _, value := range values {
		more, err := IncludedPaths(ctx, value, file, os.Getenv("HOME"))
		if err != nil {
			return nil, err
		}
		paths = append(paths, more...)
	}
	return paths, nil
}
