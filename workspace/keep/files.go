package keep

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/plaintext"
	"middleman/workspace/basedir"
	"middleman/workspace/look"
)

// What of the ignored files is kept: a file or a whole directory, as git names
// it, up to these, and all of them together up to a third. So settings and
// credentials that are nowhere else come back, and what a build has made does
// not. A repository in them is always kept.
const (
	maxIgnoredBytes = 1 << 20
	maxIgnoredFiles = 1000
	maxIgnoredTotal = 32 << 20
)

// verdict is what becomes of a file: whether it is kept, and of a directory,
// whether what is in it is looked at.
type verdict struct{ keep, descend bool }

// choice is the choice of what git ignores in one workspace.
type choice struct {
	skip   map[string]bool // not kept
	repos  []string        // kept nevertheless
	any    bool            // something is kept
	unkept []string
}

// chooseIgnored measures what git ignores in dir; what is too large to be kept
// only until that is known, or exactly.
func chooseIgnored(dir string, seen look.Findings, exactly bool) (choice, error) {
	c := choice{skip: map[string]bool{}, repos: seen.Repositories}
	if dir == "" {
		return c, nil
	}
	left := int64(maxIgnoredTotal)
	for _, name := range seen.Ignored {
		size, fits, err := measure(filepath.Join(dir, filepath.FromSlash(name)), min(left, maxIgnoredBytes))
		if err != nil {
			return c, fmt.Errorf("measure %s: %w", plaintext.Quoted(name), err)
		}
		if fits {
			left -= size
			c.any = true
			continue
		}
		c.skip[strings.TrimSuffix(name, "/")] = true
		why := "too large"
		if exactly {
			if why, err = extent(filepath.Join(dir, filepath.FromSlash(name))); err != nil {
				return c, fmt.Errorf("measure %s: %w", plaintext.Quoted(name), err)
			}
		}
		c.unkept = append(c.unkept, "ignored "+plaintext.Quoted(name)+" ("+why+")")
	}
	return c, nil
}

// extent says how large what is at path is, in words.
func extent(path string) (string, error) {
	var bytes int64
	files := 0
	err := filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		files++
		bytes += info.Size()
		return nil
	})
	size := fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
	if files != 1 {
		size = fmt.Sprintf("%d files, %s", files, size)
	}
	return size + ": too large", err
}

// measure reports whether all below path has at most limit bytes, and how many.
func measure(path string, limit int64) (size int64, fits bool, err error) {
	files := 0
	err = filepath.WalkDir(path, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if files++; info.Mode().IsRegular() {
			size += info.Size()
		}
		if files > maxIgnoredFiles || size > limit {
			return fs.SkipAll
		}
		return nil
	})
	return size, files <= maxIgnoredFiles && size <= limit, err
}

// verdict says what becomes of name.
func (c choice) verdict(name string) verdict {
	for _, repo := range c.repos {
		if name == repo || strings.HasPrefix(name, repo+"/") || strings.HasPrefix(repo, name+"/") {
			return verdict{keep: true, descend: true}
		}
	}
	for at := name; len(c.skip) > 0; {
		if c.skip[at] {
			return verdict{}
		}
		i := strings.LastIndexByte(at, '/')
		if i < 0 {
			break
		}
		at = at[:i]
	}
	return verdict{keep: true, descend: true}
}

// listFiles lists what is in dir, itself first as ".". odd is what is not kept
// of it, a line each: files without content, and bits of somebody else's.
func listFiles(dir string, judge func(name string, dir bool) verdict) (files []file, odd []string, err error) {
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		name := filepath.ToSlash(below)
		v := verdict{keep: true, descend: true}
		if name != "." {
			v = judge(name, entry.IsDir())
		}
		if v.keep {
			f, err := describeFile(path, name)
			switch {
			case err != nil:
				return err
			case f.Mode.IsRegular(), f.Mode.IsDir(), f.Mode.Type() == fs.ModeSymlink:
				files = append(files, f)
				if f.Bits != f.Mode&specialBits {
					odd = append(odd, "setuid or setgid of "+plaintext.Quoted(name)+" (it belongs to another user or group)")
				}
			default:
				odd = append(odd, plaintext.Quoted(name)+" (it is no file, link or directory)")
			}
		}
		if entry.IsDir() && !v.descend {
			return fs.SkipDir
		}
		return nil
	})
	return files, odd, err
}

// specialBits are those of a mode beside the permissions.
const specialBits = fs.ModeSetuid | fs.ModeSetgid | fs.ModeSticky

// bitsToKeep are the special bits of a file that mean the same on one that we
// make: that file is ours, whoever's this one is, and would lend our rights.
// Those of a directory lend none.
func bitsToKeep(info fs.FileInfo) fs.FileMode {
	bits := info.Mode() & specialBits
	if bits == 0 || info.IsDir() {
		return bits
	}
	user, group := basedir.OwnedBy(info)
	if !user {
		bits &^= fs.ModeSetuid
	}
	if !group {
		bits &^= fs.ModeSetgid
	}
	return bits
}

func describeFile(path, name string) (file, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return file{}, err
	}
	f := file{Path: []byte(name), Mode: info.Mode(), Time: info.ModTime(), Bits: bitsToKeep(info)}
	if f.Mode.Type() == fs.ModeSymlink {
		target, err := os.Readlink(path)
		if err != nil {
			return file{}, err
		}
		f.Target = []byte(target)
	}
	return f, nil
}
