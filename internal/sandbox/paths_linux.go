package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// open opens a path without access to its content. A symbolic link anywhere in it
// is an error. The caller closes the descriptor.
func open(path string) (fd int, info unix.Stat_t, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	fd, err = unix.Openat2(unix.AT_FDCWD, path, &how)
	switch {
	case errors.Is(err, unix.ELOOP):
		return -1, info, fmt.Errorf("open %s: a symbolic link is in it, and a policy has none", path)
	case errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EPERM): // before Linux 5.6, or refused by a filter
		return openByName(path)
	case err == nil:
		err = unix.Fstat(fd, &info)
	}
	if err != nil {
		return -1, info, fmt.Errorf("open %s: %w", path, err)
	}
	return fd, info, nil
}

// openByName is open for kernels without openat2(2).
func openByName(path string) (fd int, info unix.Stat_t, err error) {
	fd, err = unix.Open("/", unix.O_PATH|unix.O_CLOEXEC, 0)
	for _, name := range strings.FieldsFunc(path, func(r rune) bool { return r == '/' }) {
		if err != nil {
			break
		}
		outer := fd
		fd, err = unix.Openat(outer, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		unix.Close(outer)
		if err == nil {
			err = unix.Fstat(fd, &info)
		}
		if err == nil && info.Mode&unix.S_IFMT == unix.S_IFLNK {
			unix.Close(fd)
			return -1, info, fmt.Errorf("open %s: a symbolic link is in it, and a policy has none", path)
		}
	}
	if err != nil {
		return -1, info, fmt.Errorf("open %s: %w", path, err)
	}
	if path == "/" {
		err = unix.Fstat(fd, &info)
	}
	return fd, info, err
}

// kindOf returns what is at a path without a link in it.
func kindOf(path string) (kind, error) {
	fd, info, err := open(path)
	if err != nil {
		return missing, err
	}
	unix.Close(fd)
	if info.Mode&unix.S_IFMT == unix.S_IFDIR {
		return directory, nil
	}
	return file, nil
}

// checkFiles returns what the paths of a policy are. A path that is missing or has a
// link in it is an error, but for hidden and shown ones, which may have gone since
// the policy was made. A hidden or shown path with a link in it is an error.
func (p Policy) checkFiles() (map[string]kind, error) {
	kinds := make(map[string]kind)
	need := slices.Clone(p.Writable)
	if p.Temp != "" {
		need = append(need, p.Temp)
	}
	for _, b := range p.Binds {
		need = append(need, b.From)
	}
	for _, path := range p.ReadOnly {
		need = append(need, p.source(path))
	}
	for i, path := range slices.Concat(need, p.Hidden, p.Show, p.TempPaths) {
		k, err := kindOf(path)
		if err != nil && (i < len(need) || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
		kinds[path] = k
	}
	if kinds[p.Temp] != directory {
		return nil, fmt.Errorf("%s is no directory, and the policy has it for temporary files", p.Temp)
	}
	return kinds, nil
}

// systemFacts are the facts of this system, with those that are known already.
func systemFacts(known map[string]kind) facts {
	resolv, err := filepath.EvalSymlinks("/etc/resolv.conf")
	if err != nil {
		resolv = ""
	}
	return facts{resolv: resolv, root: os.Geteuid() == 0, kind: func(path string) kind {
		if k, ok := known[path]; ok {
			return k
		}
		k, err := kindOf(path)
		if err != nil {
			return missing
		}
		return k
	}}
}
