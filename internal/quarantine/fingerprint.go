package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// maxSeen bounds how many files a fingerprint reads, and maxDepth how deep: the way to a
// file is walked anew for each. git makes no directories as deep as that.
const (
	maxSeen  = 200_000
	maxDepth = 200
)

// fingerprint says in a short text what is at the given names below root: names, sizes and
// times of all files but objects and our refs. As long as it is the same there is nothing
// new. It is "" if there is too much to look at.
func fingerprint(root *os.Root, names ...string) (string, error) {
	sum := sha256.New()
	n := 0
	for _, name := range names {
		err := fs.WalkDir(root.FS(), name, func(at string, entry fs.DirEntry, err error) error {
			if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
				return nil
			}
			if err != nil {
				return err
			}
			if entry.IsDir() && (at == "objects" || at == "lfs" || at == "refs/middleman" || strings.HasSuffix(at, "/modules")) {
				return fs.SkipDir
			}
			info, err := entry.Info()
			if errors.Is(err, fs.ErrNotExist) {
				return nil // git has just removed it
			}
			if err != nil {
				return err
			}
			if n++; n > maxSeen || strings.Count(at, "/") > maxDepth {
				n = maxSeen + 1
				return fs.SkipAll
			}
			if !entry.IsDir() {
				fmt.Fprintf(sum, "%q %v %d %d %s\n", at, info.Mode(), info.Size(), info.ModTime().UnixNano(), identity(info))
			}
			return nil
		})
		if err != nil || n > maxSeen {
			return "", err
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// seenAt returns the fingerprint of a private directory.
func seenAt(dir string) (string, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	return fingerprint(root, ".")
}

// fingerprint returns that of what the private directory is made from, and of the places
// that it names.
func (s site) fingerprint(q *Quarantine) (string, error) {
	root, err := os.OpenRoot(s.CommonDir)
	if err != nil {
		return "", err
	}
	defer root.Close()
	of, err := fingerprint(root, "packed-refs", "refs", "reftable", "HEAD", "shallow", "objects/info/alternates", path.Join(filepath.ToSlash(s.entry), "HEAD"),
		path.Join(filepath.ToSlash(s.entry), "index"), path.Join(filepath.ToSlash(s.entry), "gitdir"))
	if err != nil || of == "" {
		return "", err
	}
	return digest(strings.Join([]string{of, q.dir, s.CommonDir, s.WorkTree}, "\x00")), nil
}
