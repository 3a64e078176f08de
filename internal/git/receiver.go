package git

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/private"
)

// ConsentedReceiver returns an error if another user can choose what a push runs in a
// repository of this machine: by its settings or its hooks. address is that of the remote,
// as git reads it in dir. The error names what they can change and is a
// plainfile.ErrRefused. Without a repository there it returns nil: the push will tell.
func ConsentedReceiver(ctx context.Context, dir, address string) error {
	p, err := receiver(ctx, dir, address)
	if err != nil || p.GitDir == "" {
		return err
	}
	if err := p.checkOwn(ctx); err != nil {
		return fmt.Errorf("remote %s runs nothing without --filters: %w", plaintext.Quoted(address), err)
	}
	hooks, err := p.hooks(ctx)
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(hooks)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list hooks: %w", err)
	}
	files := []string{hooks}
	for _, entry := range entries {
		if !strings.HasSuffix(entry.Name(), ".sample") {
			files = append(files, filepath.Join(hooks, entry.Name()))
		}
	}
	for _, file := range files {
		if err := private.Trusted(file); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w; it has hooks of remote %s, which run nothing without --filters: %w", err, plaintext.Quoted(address), plainfile.ErrRefused)
		}
	}
	return nil
}

// receiver returns the repository that git receive-pack finds by an address (see
// git-init(1) and gitrepository-layout(5)), or none.
func receiver(ctx context.Context, dir, address string) (Dirs, error) {
	path := address
	if rest, is := strings.CutPrefix(address, "file://"); is {
		path = rest
		if plain, err := url.PathUnescape(rest); err == nil {
			path = plain
		}
		if drive := strings.TrimPrefix(path, "/"); filepath.VolumeName(drive) != "" {
			path = drive
		} else if i := strings.IndexByte(path, '/'); i > 0 {
			path = path[i:] // git ignores the host before it
		}
	}
	path, err := pathname(ctx, path, os.Getenv("HOME"))
	if err != nil || path == "" {
		return Dirs{}, err
	}
	if !filepath.IsAbs(path) {
		path = dir + "/" + path
	}
	path = straight(path)
	for _, p := range []Dirs{{GitDir: path + "/.git", WorkTree: path}, {GitDir: path}, {GitDir: path + ".git/.git", WorkTree: path + ".git"}, {GitDir: path + ".git"}} {
		if named, err := ReadGitFile(p.GitDir); err == nil && named != "" {
			p.GitDir, p.WorkTree = named, filepath.Dir(p.GitDir)
		}
		if p.CommonDir, err = ReadPath(filepath.Join(p.GitDir, "commondir"), p.GitDir); err != nil {
			p.CommonDir = p.GitDir
		}
		_, noHead := os.Lstat(filepath.Join(p.GitDir, "HEAD"))
		_, noObjects := os.Stat(filepath.Join(p.CommonDir, "objects"))
		if noHead == nil && noObjects == nil {
			return p, nil
		}
	}
	return Dirs{}, nil
}

// hooks returns the directory of the hooks that run in the repository when it receives.
func (p Dirs) hooks(ctx context.Context) (string, error) {
	set, scope := "", ""
	c := p.Look("config", "--null", "--show-scope", "--type=path", "--get-all", "core.hooksPath")
	c.Each = func(record string) { // alternates between a scope and a value
		switch {
		case scope == "":
			scope = record
			return
		case scope != "command": // that is ours
			set = record
		}
		scope = ""
	}
	if _, err := c.Run(ctx); err != nil && ExitCode(err) != 1 { // status 1: it is not set
		return "", err
	}
	switch {
	case set == "":
		return filepath.Join(p.CommonDir, "hooks"), nil
	case filepath.IsAbs(set):
		return straight(set), nil
	}
	return straight(p.GitDir + "/" + set), nil
}
