//go:build unix

package private_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

const stranger = 61234 // a user id that is nobody's

// tree makes base/a/b/c, each 0700, and returns base and base/a/b/c.
func tree(t *testing.T) (base, deep string) {
	t.Helper()
	base = testenv.ShortDir(t)
	deep = filepath.Join(base, "a", "b", "c")
	if err := os.MkdirAll(deep, 0o700); err != nil {
		t.Fatal(err)
	}
	return base, deep
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func needRoot(t *testing.T) {
	t.Helper()
	testenv.NeedRoot(t, "give a file to another user")
}

func TestDir(t *testing.T) {
	for _, tt := range []struct {
		name string
		root bool // is needed
		set  func(t *testing.T, base string)
		want []string // the error has each of them; none means no error
	}{
		{"ours", false, func(*testing.T, string) {}, nil},
		{"readable", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a/b/c", 0o755)) }, nil},
		{"group-writable", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a/b/c", 0o720)) },
			[]string{"/a/b/c is writable by others (mode 0720)", "chmod go-w "}},
		{"writable", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a/b/c", 0o702)) }, []string{"/a/b/c is writable"}},
		{"sticky", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a/b/c", 0o777|fs.ModeSticky)) }, []string{"/a/b/c is writable"}},
		{"writable above", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a", 0o777)) }, []string{"/a is writable"}},
		{"sticky above", false, func(t *testing.T, base string) { must(t, os.Chmod(base+"/a", 0o777|fs.ModeSticky)) }, nil},
		{"all at once", false, func(t *testing.T, base string) {
			must(t, os.Chmod(base+"/a", 0o772))
			must(t, os.Chmod(base+"/a/b", 0o777))
		}, []string{"/a is writable by others (mode 0772); ", "/a/b is writable by others (mode 0777); run: chmod go-w ", "/a /", "/a/b"}},
		{"link", false, func(t *testing.T, base string) {
			must(t, os.Rename(base+"/a/b/c", base+"/a/b/d"))
			must(t, os.Symlink("d", base+"/a/b/c"))
		}, []string{"/a/b/c is a symbolic link"}},
		{"link above", false, func(t *testing.T, base string) {
			must(t, os.Rename(base+"/a", base+"/x"))
			must(t, os.Symlink(base+"/x", base+"/a"))
		}, nil},
		{"link above to a writable place", false, func(t *testing.T, base string) {
			must(t, os.Mkdir(base+"/y", 0o700))
			must(t, os.Rename(base+"/a", base+"/y/x"))
			must(t, os.Symlink("y/x", base+"/a"))
			must(t, os.Chmod(base+"/y", 0o777))
		}, []string{"/y is writable"}},
		{"links in a circle", false, func(t *testing.T, base string) {
			must(t, os.RemoveAll(base+"/a"))
			must(t, os.Symlink("a", base+"/a"))
		}, []string{"too many levels"}},
		{"file", false, func(t *testing.T, base string) {
			must(t, os.Remove(base+"/a/b/c"))
			must(t, os.WriteFile(base+"/a/b/c", nil, 0o600))
		}, []string{"/a/b/c is not a directory"}},
		{"missing", false, func(t *testing.T, base string) { must(t, os.Remove(base+"/a/b/c")) }, []string{"no such file"}},
		{"missing below a writable place", false, func(t *testing.T, base string) {
			must(t, os.Remove(base+"/a/b/c"))
			must(t, os.Chmod(base+"/a/b", 0o707))
		}, []string{"/a/b is writable"}},
		{"another's", true, func(t *testing.T, base string) { must(t, os.Chown(base+"/a/b/c", stranger, -1)) },
			[]string{"/a/b/c belongs to user 61234, and you are user 0"}},
		{"another's above", true, func(t *testing.T, base string) { must(t, os.Chown(base+"/a", stranger, -1)) }, []string{"/a belongs to user 61234"}},
		{"another's link above", true, func(t *testing.T, base string) {
			must(t, os.Rename(base+"/a", base+"/x"))
			must(t, os.Symlink("x", base+"/a"))
			must(t, os.Lchown(base+"/a", stranger, -1))
		}, []string{"/a belongs to user 61234"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.root {
				needRoot(t)
			}
			base, deep := tree(t)
			tt.set(t, base)
			err := private.Dir(deep)
			if len(tt.want) == 0 && err != nil || len(tt.want) > 0 && err == nil {
				t.Fatalf("Dir: %v, want %q", err, tt.want)
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("Dir: %v, want %q", err, want)
				}
			}
		})
	}
}

func TestRelativePathIsRefused(t *testing.T) {
	if err := private.Dir("a"); err == nil {
		t.Error("a relative path passed")
	}
}

// MakeDir makes nothing where it would be in somebody else's hands.
func TestMakeDir(t *testing.T) {
	base, deep := tree(t)
	fresh := filepath.Join(deep, "x", "y")
	must(t, private.MakeDir(fresh))
	must(t, os.Chmod(fresh, 0o755))
	must(t, private.MakeDir(fresh))
	if info, err := os.Stat(fresh); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v, %v: want 0700", info.Mode(), err)
	}
	must(t, os.Chmod(base+"/a", 0o777))
	late := filepath.Join(deep, "late")
	if err := private.MakeDir(late); err == nil {
		t.Error("made a directory below one that anybody can write")
	}
	if _, err := os.Lstat(late); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it is there: %v", err)
	}
}

func TestBelow(t *testing.T) {
	base, deep := tree(t)
	must(t, private.Below(base, deep))
	if err := private.Below(deep, base); err == nil {
		t.Error("a directory above passed as one below")
	}
	must(t, os.Rename(base+"/a/b", base+"/a/d"))
	must(t, os.Symlink("d", base+"/a/b"))
	if err := private.Below(base, deep); err == nil || !strings.Contains(err.Error(), "/a/b is a symbolic link") {
		t.Errorf("a link between: %v", err)
	}
	must(t, private.Dir(deep)) // above a directory it may be one
}

func TestExecutable(t *testing.T) {
	base, deep := tree(t)
	file := filepath.Join(deep, "program")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Symlink("program", filepath.Join(deep, "link")))
	for _, tt := range []struct {
		name string
		mode fs.FileMode
		dir  fs.FileMode
		ok   bool
	}{
		{"ours", 0o755, 0o755, true},
		{"not executable", 0o644, 0o755, false},
		{"group-writable", 0o775, 0o755, false},
		{"writable", 0o757, 0o755, false},
		{"set-uid", 0o755 | fs.ModeSetuid, 0o755, false},
		{"set-gid", 0o755 | fs.ModeSetgid, 0o755, false},
		{"in a writable directory", 0o755, 0o757, false},
	} {
		must(t, os.Chmod(file, tt.mode))
		must(t, os.Chmod(base+"/a", tt.dir))
		for _, name := range []string{"program", "link"} {
			f, err := private.OpenExecutable(filepath.Join(deep, name))
			if (err == nil) != tt.ok {
				t.Errorf("%s, %s: %v", tt.name, name, err)
			}
			f.Close() // also of nil
		}
	}
	must(t, unix.Mkfifo(filepath.Join(deep, "pipe"), 0o700))
	must(t, os.Chmod(base+"/a", 0o755))
	if _, err := private.OpenExecutable(filepath.Join(deep, "pipe")); err == nil || !strings.Contains(err.Error(), "pipe is not an executable file") {
		t.Errorf("a pipe: %v", err)
	}
}

// What is no regular file of ours is refused, and a pipe does not hold us.
func TestReadFile(t *testing.T) {
	_, dir := tree(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, []byte("text"), 0o600))
	must(t, os.Symlink("file", filepath.Join(dir, "link")))
	must(t, os.Mkdir(filepath.Join(dir, "dir"), 0o700))
	must(t, unix.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	must(t, os.WriteFile(filepath.Join(dir, "loose"), nil, 0o600))
	must(t, os.Chmod(filepath.Join(dir, "loose"), 0o620))
	if text, err := private.ReadFile(file); err != nil || string(text) != "text" {
		t.Errorf("ReadFile: %q, %v", text, err)
	}
	if _, err := private.ReadFile(filepath.Join(dir, "missing")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	for name, want := range map[string]string{
		"link": "symbolic link", "dir": "a directory", "pipe": "a FIFO", "loose": "writable by others (mode 0620); run: chmod go-w ",
	} {
		path := filepath.Join(dir, name)
		if _, err := private.ReadFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
		if err := private.CheckFile(path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("check %s: %v, want %q", name, err, want)
		}
	}
}

func TestReadFileOfAnother(t *testing.T) {
	needRoot(t)
	_, dir := tree(t)
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	must(t, os.Chown(file, stranger, -1))
	if _, err := private.ReadFile(file); err == nil || !strings.Contains(err.Error(), "belongs to user 61234") {
		t.Errorf("ReadFile: %v", err)
	}
}

func TestReplace(t *testing.T) {
	_, dir := tree(t)
	old := unix.Umask(0)
	defer unix.Umask(old)
	path := filepath.Join(dir, "state")
	for _, keep := range []private.Keep{private.Durable, private.ThisBoot} {
		must(t, private.Replace(path, []byte("new"), keep))
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if err := private.Replace(filepath.Join(dir, "missing", "state"), nil, private.Durable); err == nil {
		t.Error("replaced a file in a directory that is missing")
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
		t.Errorf("left %v, %v", entries, err)
	}
}
