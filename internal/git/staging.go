package git

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/private"
)

// stagePrefix begins the names of staging directories. `git gc` removes what begins so
// and is two weeks old: it is git's name for its own.
const stagePrefix = "tmp_objdir-middleman-"

// Staging is a directory below the objects of a repository, for new objects of one
// change. Commands with its Dirs write there, and see the other objects too. Nobody else
// sees the new ones before Land. So a change that fails leaves nothing of them.
type Staging struct {
	Dirs
	Repository Dirs
}

// Stage makes the staging directory of the change that is called name. It removes the one
// that a killed process left.
func (p Dirs) Stage(name string) (*Staging, error) {
	if err := p.DropStage(name); err != nil {
		return nil, err
	}
	s := &Staging{Dirs: p, Repository: p}
	s.Objects = p.stage(name)
	if err := os.Mkdir(s.Objects, 0o700); err != nil {
		return nil, fmt.Errorf("make a directory for new objects: %w", err)
	}
	return s, nil
}

func (p Dirs) stage(name string) string { return filepath.Join(p.objects(), stagePrefix+name) }

func (p Dirs) objects() string { return filepath.Join(p.CommonDir, "objects") }

// Stages returns the names of the staging directories that there are, each with its path.
func (p Dirs) Stages() (map[string]string, error) {
	entries, err := os.ReadDir(p.objects())
	if err != nil {
		return nil, fmt.Errorf("look for new objects: %w", err)
	}
	found := map[string]string{}
	for _, entry := range entries {
		if name, is := strings.CutPrefix(entry.Name(), stagePrefix); is && entry.IsDir() {
			found[name] = p.stage(name)
		}
	}
	return found, nil
}

// DropStage removes the staging directory of that name with all that is in it.
func (p Dirs) DropStage(name string) error {
	if err := os.RemoveAll(p.stage(name)); err != nil {
		return fmt.Errorf("remove new objects: %w", err)
	}
	return nil
}

// Close removes the objects that have not landed.
func (s *Staging) Close() error {
	if err := os.RemoveAll(s.Objects); err != nil {
		return fmt.Errorf("remove new objects: %w", err)
	}
	return nil
}

// Land moves the objects to those of the repository, and syncs the directories. git has
// synced the files, see Durable. Objects that have landed stay after an error, because
// another git may have used them by then.
func (s *Staging) Land() error {
	entries, err := os.ReadDir(s.Objects)
	for _, entry := range entries {
		if err == nil {
			err = land(filepath.Join(s.Objects, entry.Name()), filepath.Join(s.Repository.objects(), entry.Name()))
		}
	}
	if err == nil {
		err = private.SyncDir(s.Repository.objects())
	}
	if err != nil {
		return fmt.Errorf("add new objects: %w", err)
	}
	return nil
}

// land moves the files of a directory of objects to the one of the repository. A missing
// one it makes by a rename, which keeps the mode that git has given it, and needs no room.
func land(from, to string) error {
	if _, err := os.Lstat(to); errors.Is(err, fs.ErrNotExist) && os.Rename(from, to) == nil {
		return private.SyncDir(to)
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	isIndex := func(e fs.DirEntry) bool { return strings.HasSuffix(e.Name(), ".idx") }
	indexes := slices.DeleteFunc(slices.Clone(entries), func(e fs.DirEntry) bool { return !isIndex(e) })
	others := slices.DeleteFunc(entries, isIndex)
	for _, entry := range append(others, indexes...) { // the index of a pack makes it visible
		target := filepath.Join(to, entry.Name())
		if _, err := os.Lstat(target); err == nil || strings.HasPrefix(entry.Name(), "tmp_") {
			continue // another git has stored the same meanwhile, or one that was killed left it
		}
		if err := os.Rename(filepath.Join(from, entry.Name()), target); err != nil {
			return err
		}
	}
	return private.SyncDir(to)
}
