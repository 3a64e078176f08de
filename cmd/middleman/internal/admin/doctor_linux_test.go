package admin

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
)

func TestDoctorSeesAFullDisk(t *testing.T) {
	dir := t.TempDir()
	testenv.SmallDisk(t, dir, "256")
	check := func() finding { return checkWritable(checkDirectory("data directory", dir), dir) }
	if f := check(); f.State != "ok" {
		t.Errorf("with room: %+v", f)
	}
	if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 224<<10), 0o600); err != nil {
		t.Fatal(err)
	}
	if f := check(); f.State != "problem" || !strings.Contains(f.Detail, "no space left on device") {
		t.Errorf("without room: %+v", f)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if f := checkWritable(checkDirectory("data directory", dir+"/none"), dir+"/none"); f.State != "ok" {
		t.Errorf("not made yet: %+v", f)
	}
}
