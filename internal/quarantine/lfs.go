package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
	"middleman/internal/sandbox"
)

// lfsObjects is where git-lfs keeps the contents of files, by their SHA-256.
const lfsObjects = "lfs/objects"

// shownLFS returns the bind that shows the repository's contents of git-lfs, or nil if it
// has none: git-lfs looks for them beside each alternate.
func (q *Quarantine) shownLFS(s site) (*sandbox.Bind, error) {
	dir, err := filepath.EvalSymlinks(filepath.Join(s.CommonDir, "lfs"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil {
		err = makeDir(q.path("lfs"))
	}
	return &sandbox.Bind{From: dir, To: q.path("lfs")}, err
}

func makeDir(path string) error {
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// bringLFS copies contents of git-lfs that were made in the sandbox into the repository,
// each checked by its name. Commits refer to them.
func (i *importing) bringLFS() {
	left := int64(maxPack)
	err := fs.WalkDir(i.in.root.FS(), lfsObjects, func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		name := path.Base(at)
		if !entry.Type().IsRegular() || len(name) != 2*sha256.Size || !git.IsObjectID(name) || at != path.Join(lfsObjects, name[:2], name[2:4], name) {
			return nil
		}
		to := filepath.Join(i.s.CommonDir, filepath.FromSlash(at))
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		if err := copyLFS(i.in.root, at, to, &left); err != nil {
			i.miss(at, name, err)
		}
		return nil
	})
	if err != nil {
		i.out.Missed = append(i.out.Missed, fmt.Sprintf("contents of git-lfs: %s", plaintext.Quoted(err.Error())))
	}
}

// copyLFS copies one content to a new file, if it is what its name says.
func copyLFS(root *os.Root, at, to string, left *int64) error {
	file, info, err := plainfile.Open(root, at)
	if err != nil {
		return err
	}
	defer file.Close()
	if *left -= info.Size(); *left < 0 {
		return errTooLarge
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(to), ".middleman-*")
	if err != nil {
		return err
	}
	defer os.Remove(made.Name()) // an error after the rename
	sum := sha256.New()
	_, err = io.Copy(io.MultiWriter(made, sum), io.LimitReader(file, info.Size()))
	if err == nil {
		err = errors.Join(made.Chmod(0o444), made.Sync())
	}
	if err = errors.Join(err, made.Close()); err != nil {
		return err
	}
	if hex.EncodeToString(sum.Sum(nil)) != path.Base(at) {
		return errors.New("it is not what its name says")
	}
	return os.Rename(made.Name(), to)
}
