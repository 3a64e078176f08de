//go:build unix

package owner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

// An executable that another could have written does not take over, and is not
// even asked what it is.
func TestUnsafeImageIsNotRun(t *testing.T) {
	dir, err := os.MkdirTemp("", "mm-image-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path, ran := filepath.Join(dir, "middleman"), filepath.Join(dir, "ran")
	testenv.WriteProgram(t, path, "#!/bin/sh\n>"+ran+"\n")
	for _, tt := range []struct {
		name     string
		file     os.FileMode
		dir      os.FileMode
		want     string
		executed bool
	}{
		{"ours", 0o755, 0o755, "it is not middleman", true},
		{"group-writable", 0o775, 0o755, path + " is writable by others (mode 0775); run: chmod go-w " + path, false},
		{"writable", 0o757, 0o755, path + " is writable by others (mode 0757)", false},
		{"in a writable directory", 0o755, 0o757, dir + " is writable by others (mode 0757); run: chmod go-w " + dir, false},
		{"set-uid", 0o755 | os.ModeSetuid, 0o755, "is set-uid or set-gid", false},
		{"not executable", 0o644, 0o755, "is not an executable file", false},
	} {
		if err := os.Chmod(path, tt.file); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, tt.dir); err != nil {
			t.Fatal(err)
		}
		if img, err := openImage(path); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, %v; want %q", tt.name, img, err, tt.want)
		}
		if _, err := os.Stat(ran); (err == nil) != tt.executed {
			t.Errorf("%s: it was run: %v", tt.name, err == nil)
		}
		os.Remove(ran)
	}
}
