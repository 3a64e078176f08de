package quarantine

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// maxSeen bounds how many files a fingerprint reads.
const maxSeen = 200_000

// fingerprint says in a short text what the private directory looks like: names, sizes and
// times of all files but objects, configuration and messages. As long as it is the same
// there is nothing new. It is "" if there is too much to look at.
func fingerprint(root *os.Root) (string, error) {
	sum := sha256.New()
	n := 0
	err := fs.WalkDir(root.FS(), ".", func(at string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && (at == "objects" || at == "lfs" || strings.HasSuffix(at, "/modules")) {
			return fs.SkipDir
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			return nil // git has just removed it
		}
		if err != nil {
			return err
		}
		if n++; n > maxSeen {
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
	return hex.EncodeToString(sum.Sum(nil)), nil
}
