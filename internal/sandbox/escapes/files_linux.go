package escapes

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

var onLandlock = gap{landlock: always}

// opens opens a path and closes it again.
func opens(path string, flags int) error {
	fd, err := unix.Open(path, flags|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0o600)
	if err == nil {
		unix.Close(fd)
	}
	return err
}

// overwrites writes to a file that exists.
func overwrites(path string) error {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC|unix.O_NOCTTY, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	_, err = unix.Write(fd, []byte("escaped"))
	return err
}

// creates makes a file.
func creates(path string) error { return opens(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL) }

// reads reads a file that has the secret.
func reads(path string) error {
	raw, err := os.ReadFile(path)
	if err == nil && !bytes.Contains(raw, []byte(secret)) {
		err = fmt.Errorf("%s is there and does not have the secret", filepath.Base(path))
	}
	return err
}

// first is the first error of steps.
func first(steps ...func() error) error {
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// files are attempts to change files outside. It is
// long because it is a table.
func files() []attempt {
	const area = "files"
	return []attempt{
		{area, "write to a file", func(s *stage) error { return overwrites(s.own()) }, gap{}, everyone},
		{area, "make a file", func(s *stage) error { return creates(s.dir() + "/new") }, gap{}, everyone},
		{area, "make a directory", func(s *stage) error { return os.Mkdir(s.dir()+"/new", 0o700) }, gap{}, everyone},
		{area, "make a symbolic link", func(s *stage) error { return os.Symlink("/", s.dir()+"/new") }, gap{}, everyone},
		{area, "make a named pipe", func(s *stage) error { return unix.Mkfifo(s.dir()+"/new", 0o600) }, gap{}, everyone},
		{area, "make a socket", func(s *stage) error {
			stop, err := listen("unix", s.dir(), "new")
			if err == nil {
				stop()
			}
			return err
		}, gap{}, everyone},
		{area, "make a file without a name, then name it", func(s *stage) error {
			fd, err := unix.Open(s.dir(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return unix.Linkat(unix.AT_FDCWD, fmt.Sprintf("/proc/self/fd/%d", fd), unix.AT_FDCWD, s.dir()+"/new", unix.AT_SYMLINK_FOLLOW)
		}, gap{}, everyone},
		{area, "truncate a file", func(s *stage) error { return unix.Truncate(s.own(), 0) }, gap{}, everyone},
		{area, "truncate a file by opening it", func(s *stage) error { return opens(s.own(), unix.O_RDONLY|unix.O_TRUNC) }, gap{}, everyone},
		{area, "remove a file", func(s *stage) error { return os.Remove(s.own()) }, gap{}, everyone},
		{area, "remove a directory", func(s *stage) error { return unix.Rmdir(s.dir()) }, gap{}, everyone},
		{area, "rename a file outside", func(s *stage) error { return os.Rename(s.own(), s.own()+".new") }, gap{}, everyone},
		{area, "move a file out of the workspace", func(s *stage) error {
			return first(func() error { return creates(s.in("out")) }, func() error { return os.Rename(s.in("out"), s.dir()+"/planted") })
		}, gap{}, everyone},
		{area, "move a file into the workspace", func(s *stage) error { return os.Rename(s.own(), s.in("stolen")) }, gap{}, everyone},
		{area, "exchange a file with one of the workspace", func(s *stage) error {
			return first(func() error { return creates(s.in("exchanged")) },
				func() error {
					return unix.Renameat2(unix.AT_FDCWD, s.own(), unix.AT_FDCWD, s.in("exchanged"), unix.RENAME_EXCHANGE)
				})
		}, gap{}, everyone},
		{area, "write through a hard link", func(s *stage) error {
			return first(func() error { return os.Link(s.own(), s.in("linked")) }, func() error { return overwrites(s.in("linked")) })
		}, gap{}, everyone},
		{area, "write through a symbolic link", func(s *stage) error { // CVE-2026-39861
			return first(func() error { return os.Symlink(s.own(), s.in("symbolic")) }, func() error { return overwrites(s.in("symbolic")) })
		}, gap{}, everyone},
		{area, "make a file through a link to a directory", func(s *stage) error {
			return first(func() error { return os.Symlink(s.dir(), s.in("leading")) }, func() error { return creates(s.in("leading/new")) })
		}, gap{}, everyone},
		{area, "leave the workspace by ..", func(s *stage) error { return overwrites(s.Workspace + "/../outside/" + filepath.Base(s.own())) }, gap{}, everyone},
		{area, "work in a directory outside, so that it is writable", func(s *stage) error { // CVE-2025-59532
			cmd := exec.Command("/proc/self/exe", Command, wait)
			cmd.Dir = s.dir()
			return first(cmd.Run, func() error { return unix.Chdir(s.dir()) }, func() error { return creates("new") }, func() error { return unix.Chdir(s.Workspace) })
		}, gap{}, everyone},
		{area, "open a file again for writing", func(s *stage) error {
			fd, err := unix.Open(s.own(), unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(fd)
			return overwrites(fmt.Sprintf("/proc/self/fd/%d", fd))
		}, gap{}, everyone},
		{area, "open standard input again for writing", func(s *stage) error { return overwrites("/proc/self/fd/0") }, gap{bubblewrap: 3, strict: 3}, everyone},
		{area, "write through the root of a process", func(s *stage) error { return overwrites(fmt.Sprintf("/proc/%d/root%s", s.Victim, s.own())) }, gap{}, everyone},
		{area, "change the mode of a file", func(s *stage) error { return os.Chmod(s.own(), 0o644) }, onLandlock, everyone},
		{area, "change the owner of a file", func(s *stage) error { return os.Chown(s.own(), os.Getuid(), os.Getgid()) }, onLandlock, everyone},
		{area, "change the times of a file", func(s *stage) error { return unix.Utimes(s.own(), make([]unix.Timeval, 2)) }, onLandlock, everyone},
		{area, "change an attribute of a file", func(s *stage) error { return unix.Setxattr(s.own(), "user.escaped", []byte("x"), 0) }, onLandlock, nobody},
		{area, "set a flag of a file", func(s *stage) error { return setFlag(s.own()) }, onLandlock, nobody},
		{area, "use a descriptor that was left open", leftOpen, gap{}, everyone},
		{area, "write to the executable of middleman", func(s *stage) error { return opens(s.Executable, unix.O_WRONLY) }, gap{}, nobody},
		{area, "write to the executable of the first process", func(*stage) error { return opens("/proc/1/exe", unix.O_WRONLY) }, gap{}, nobody},
	}
}

// setFlag keeps a file out of backups (chattr +d), which whoever owns it may do.
func setFlag(path string) error {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
	if err != nil {
		return err
	}
	const noDump = 0x40
	return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|noDump)
}

// leftOpen writes to a file that is open for writing.
func leftOpen(*stage) error {
	for fd := 3; fd < 256; fd++ {
		var info unix.Stat_t
		if unix.Fstat(fd, &info) != nil || info.Mode&unix.S_IFMT != unix.S_IFREG {
			continue
		}
		if _, err := unix.Pwrite(fd, []byte("escaped"), 0); err == nil {
			return nil
		}
	}
	return unix.EBADF
}

// hidden are attempts to read what is hidden. It is
// long because it is a table.
func hidden() []attempt {
	const area = "hidden files"
	id := func(s *stage) string { return s.Secret + "/id" }
	return []attempt{
		{area, "read a hidden file", func(s *stage) error { return reads(s.SecretFile) }, gap{}, everyone},
		{area, "read a file in a hidden directory", func(s *stage) error { return reads(id(s)) }, gap{}, everyone},
		{area, "list a hidden directory", func(s *stage) error {
			entries, err := os.ReadDir(s.Secret)
			if err == nil && len(entries) == 0 {
				err = unix.ENOENT
			}
			return err
		}, onLandlock, everyone},
		{area, "look at a hidden file", func(s *stage) error {
			_, err := os.Stat(id(s))
			return err
		}, onLandlock, everyone},
		{area, "read a hidden file through a hard link", func(s *stage) error {
			return first(func() error { return os.Link(s.SecretFile, s.in("hard")) }, func() error { return reads(s.in("hard")) })
		}, gap{}, everyone},
		{area, "read a hidden file through a symbolic link", func(s *stage) error {
			return first(func() error { return os.Symlink(id(s), s.in("soft")) }, func() error { return reads(s.in("soft")) })
		}, gap{}, everyone},
		{area, "read a hidden file through /proc/self/root", func(s *stage) error { return reads("/proc/self/root" + id(s)) }, gap{}, everyone},
		{area, "read a hidden file through the root of a process", func(s *stage) error { return reads(fmt.Sprintf("/proc/%d/root%s", s.Victim, id(s))) }, gap{}, everyone},
		{area, "read a hidden file through the root of the first process", func(s *stage) error { return reads("/proc/1/root" + id(s)) }, gap{}, nobody},
		{area, "move a hidden directory into the workspace", func(s *stage) error {
			return first(func() error { return os.Rename(s.Secret, s.in("moved")) }, func() error { return os.Rename(s.in("moved"), s.Secret) })
		}, gap{}, everyone},
		{area, "uncover a hidden directory", func(s *stage) error {
			return first(func() error { return unix.Unmount(s.Secret, unix.MNT_DETACH) }, func() error { return reads(id(s)) })
		}, gap{}, nobody},
		{area, "plant a file in a hidden directory", func(s *stage) error { return creates(s.Secret + "/authorized_keys") }, gap{}, everyone},
		{area, "write to a hidden file", func(s *stage) error { return opens(s.SecretFile, unix.O_WRONLY) }, gap{}, everyone},
		{area, "read the state of another session", func(s *stage) error { return reads(s.State + "/token") }, gap{}, everyone},
		{area, "change the policy of the sandbox", func(s *stage) error { return opens(s.Policy, unix.O_WRONLY) }, gap{}, everyone},
		{area, "read a file by its number", func(s *stage) error {
			handle, _, err := unix.NameToHandleAt(unix.AT_FDCWD, s.own(), 0)
			if err != nil {
				return err
			}
			at, err := unix.Open(s.Workspace, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
			if err != nil {
				return err
			}
			defer unix.Close(at)
			fd, err := unix.OpenByHandleAt(at, handle, unix.O_RDONLY|unix.O_CLOEXEC)
			if err == nil {
				unix.Close(fd)
			}
			return err
		}, gap{}, nobody},
		{area, "read credentials of this user", func(s *stage) error {
			var open []string
			for _, path := range s.Credentials {
				if raw, err := os.ReadFile(path); err == nil && len(raw) > 0 {
					open = append(open, path)
				}
				filepath.WalkDir(path, func(inner string, e os.DirEntry, err error) error {
					if err == nil && e.Type().IsRegular() && opens(inner, unix.O_RDONLY) == nil {
						open = append(open, inner)
					}
					if len(open) > 0 {
						return filepath.SkipAll
					}
					return nil
				})
			}
			if len(open) == 0 {
				return unix.EACCES
			}
			return nil
		}, gap{}, nobody},
	}
}

// plants are attempts to leave behind what the user's programs run later.
func plants() []attempt {
	git := func(names ...string) func(s *stage) string {
		return func(s *stage) string { return filepath.Join(append([]string{s.Repository, ".git"}, names...)...) }
	}
	home := func(name string) func(s *stage) string {
		return func(s *stage) string { return filepath.Join(s.Home, name) }
	}
	changes := func(area, name string, path func(s *stage) string) attempt {
		return attempt{area, name, func(s *stage) error { return overwrites(path(s)) }, gap{}, everyone}
	}
	makes := func(area, name string, path func(s *stage) string) attempt {
		return attempt{area, name, func(s *stage) error {
			at := path(s)
			return first(func() error { return os.MkdirAll(filepath.Dir(at), 0o700) }, func() error { return creates(at) })
		}, gap{}, everyone}
	}
	return []attempt{
		changes("git", "change the configuration of the repository", git("config")),
		changes("git", "move a branch of the repository", git("refs/heads/main")),
		changes("git", "lead a worktree to another repository", git("worktrees/w/commondir")),
		makes("git", "make a hook", git("hooks/post-checkout")), // CVE-2026-26268
		makes("git", "make a configuration for the worktree", git("config.worktree")),
		makes("git", "lead the repository to another directory", git("commondir")),
		makes("git", "give the repository other objects", git("objects/info/alternates")),
		makes("git", "make a submodule", git("modules/m/config")),
		{"git", "replace .git of the workspace", func(s *stage) error {
			return first(func() error { return creates(s.in(".git.new")) }, func() error { return os.Rename(s.in(".git.new"), s.in(".git")) })
		}, onLandlock, everyone},
		changes("home", "change the start of shells", home(".bashrc")),
		changes("home", "change the configuration of git", home(".gitconfig")),
		makes("home", "make a file that shells start with", home(".profile")),
		makes("home", "make settings of an agent that has none", home(".claude/settings.json")), // CVE-2026-25725
		makes("home", "make settings of an editor", home(".vscode/settings.json")),
		makes("home", "make a service of the user", home(".config/systemd/user/escape.service")),
		makes("home", "make a program that starts with the desktop", home(".config/autostart/escape.desktop")),
		makes("home", "make a program in PATH", home(".local/bin/git")),
		makes("home", "plant a file in a cache of the user", home(".cache/pip/escape")),
	}
}

// isRefused reports whether the kernel or a filter did not let a call in. Any other
// error comes from arguments, so the call got through.
func isRefused(err error) bool {
	return err == unix.EPERM || err == unix.ENOSYS || err == unix.EACCES || err == unix.EAFNOSUPPORT
}

// calls makes a system call with arguments that do nothing.
func calls(number uintptr, args ...uintptr) error {
	var a [6]uintptr
	copy(a[:], args)
	_, _, errno := unix.Syscall6(number, a[0], a[1], a[2], a[3], a[4], a[5])
	if errno != 0 && isRefused(errno) {
		return errno
	}
	return nil
}

// sought returns the first path that exists.
func sought(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Lstat(path); err == nil {
			return path
		}
	}
	return ""
}

// statusOf returns the value of a line of /proc/self/status.
func statusOf(name string) (string, error) {
	raw, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(raw)) {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return strings.TrimSpace(value), nil
		}
	}
	return "", fmt.Errorf("/proc/self/status has no %s", name)
}
