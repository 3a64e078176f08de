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
// repository's own configuration names. That is no consent to another user's file: one that
// is its configuration in a directory of this user's, or that this includes, whatever the
// condition, is refused. The error names it and is a plainfile.ErrRefused.
func ConsentedTransport(ctx context.Context, p Dirs, agreed bool) (Transport, error) {
	if agreed {
		if err := p.checkIncludes(ctx); err != nil {
			return Transport{agreed: agreed}, err
		}
	}
	return TransportOf(ctx, p, agreed)
}

// checkIncludes returns an error if another user owns, or can write, the repository's
// configuration or a file that it includes.
func (p Dirs) checkIncludes(ctx context.Context) error {
	files := []string{filepath.Join(p.CommonDir, "config"), filepath.Join(p.CommonDir, "config.worktree"), filepath.Join(p.GitDir, "config.worktree")}
	if private.Trusted(p.CommonDir) == nil { // else it is shared, and so are its settings
		for _, file := range files {
			if err := private.Trusted(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%w; it has settings of the repository: put a copy of your own there: %w", err, plainfile.ErrRefused)
			}
		}
	}
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
