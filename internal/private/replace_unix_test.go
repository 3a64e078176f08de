//go:build unix

package private_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/private"
	"middleman/internal/testenv"
)

// What is written by parts replaces the file when it is whole, and not before. A
// symbolic link is replaced, not followed.
func TestReplaceWith(t *testing.T) {
	dir := testenv.ShortDir(t)
	path, target := filepath.Join(dir, "file"), filepath.Join(dir, "target")
	must(t, os.WriteFile(target, []byte("theirs"), 0o600))
	must(t, os.Symlink("target", path))
	why := errors.New("no more")
	write := func(err error) func(*os.File) error {
		return func(f *os.File) error {
			_, writeErr := f.WriteString("new")
			return errors.Join(writeErr, f.Chmod(0o644), err)
		}
	}
	for _, keep := range []private.Keep{private.Durable, private.ThisBoot} {
		if err := private.ReplaceWith(path, keep, write(why)); !errors.Is(err, why) {
			t.Errorf("a write that fails: %v", err)
		}
		if text, err := os.ReadFile(path); err != nil || string(text) != "theirs" {
			t.Errorf("after a write that failed: %q, %v", text, err)
		}
	}
	must(t, private.ReplaceWith(path, private.Durable, write(nil)))
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o644 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for path, want := range map[string]string{path: "new", target: "theirs"} {
		if text, err := os.ReadFile(path); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", path, text, err)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left %v, %v", entries, err)
	}
}

func TestAppendAndCreate(t *testing.T) {
	path := filepath.Join(testenv.ShortDir(t), "log")
	for _, step := range []struct {
		open func(string) (*os.File, error)
		want string
	}{{private.Append, "x"}, {private.Append, "xx"}, {private.Create, "x"}, {private.Append, "xx"}} {
		f, err := step.open(path)
		must(t, err)
		_, err = f.WriteString("x")
		must(t, errors.Join(err, f.Close()))
		info, err := os.Lstat(path)
		must(t, err)
		if text, err := os.ReadFile(path); err != nil || string(text) != step.want || info.Mode() != 0o600 {
			t.Errorf("%q with mode %v, %v, want %q", text, info.Mode(), err, step.want)
		}
	}
}

// A file that another user could have put there is not written, and not emptied.
func TestAppendAndCreateRefuseUnsafeFiles(t *testing.T) {
	for _, tt := range unsafeFiles {
		t.Run(tt.name, func(t *testing.T) {
			path := tt.make(t)
			before, _ := os.Stat(path)
			for name, open := range map[string]func(string) (*os.File, error){"Append": private.Append, "Create": private.Create} {
				if _, err := open(path); err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: %v, want %q", name, err, tt.want)
				}
			}
			if after, err := os.Stat(path); before != nil && (err != nil || after.Size() != before.Size()) {
				t.Errorf("changed: %v, %v", after, err)
			}
		})
	}
}
