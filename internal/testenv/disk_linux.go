package testenv

import (
	"syscall"
	"testing"
	"time"
)

// SmallDisk makes dir, which exists and is empty, a file system of its own of
// so many KiB, until the end of the test. Only root can.
func SmallDisk(t testing.TB, dir, kib string) {
	t.Helper()
	NeedRoot(t, "mount a small file system")
	if err := syscall.Mount("middleman-test", dir, "tmpfs", 0, "mode=0700,size="+kib+"k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // the last helper that has it open may be ending
		Eventually(t, time.Minute, "unmount "+dir, func() bool { return syscall.Unmount(dir, 0) == nil })
	})
}
