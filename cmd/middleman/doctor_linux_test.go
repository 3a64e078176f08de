package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestDoctorSeesAFullDisk(t *testing.T) {
	dir := t.TempDir()
	err := syscall.Mount("middleman-test", dir, "tmpfs", 0, "size=256k,mode=0700")
	if errors.Is(err, syscall.EPERM) {
		t.Skip("only root can mount a small file system")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Errorf("unmount: %v", err)
		}
	})
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
