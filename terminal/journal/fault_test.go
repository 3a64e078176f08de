//go:build faults

package journal

import (
	"errors"
	"os"
	"syscall"
	"testing"
)

// full lets the named operations fail until it is called.
func full(t *testing.T, ops ...string) (heal func()) {
	failing := make(map[string]bool)
	for _, op := range ops {
		failing[op] = true
	}
	Fault = func(op string) error {
		if failing[op] {
			return syscall.ENOSPC
		}
		return nil
	}
	heal = func() { clear(failing) }
	t.Cleanup(func() { Fault = func(string) error { return nil } })
	return heal
}

// A disk that makes files and has no room for a byte in them: a long time of
// it leaves no files, the gap can be filled, and appending goes on.
func TestFaultNoRoomForTheFirstByte(t *testing.T) {
	for _, fill := range []bool{true, false} {
		dir := t.TempDir()
		w, err := Create(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.Close()
		heal := full(t, "append")
		lost := ""
		for range 1000 {
			if err := w.Append([]byte("lost")); !errors.Is(err, syscall.ENOSPC) {
				t.Fatal(err)
			}
			lost += "lost"
		}
		if files, err := os.ReadDir(dir); err != nil || len(files) > 0 {
			t.Fatalf("%d files are left, %v", len(files), err)
		}
		heal()
		want, from := lost+"kept", uint64(0)
		if fill {
			if err := w.Fill(0, []byte(lost)); err != nil {
				t.Fatal(err)
			}
		} else {
			want, from = "kept", uint64(len(lost))
		}
		if err := w.Append([]byte("kept")); err != nil {
			t.Fatal(err)
		}
		r := Open(dir)
		defer r.Close()
		if got := readAll(t, r, from); string(got) != want {
			t.Errorf("read %d bytes, want %d", len(got), len(want))
		}
	}
}

// An index that cannot be written costs no output.
func TestFaultIndexOnAFullDisk(t *testing.T) {
	dir := t.TempDir()
	full(t, "index")
	w, err := Create(dir, Options{SegmentBytes: 100})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for range 100 {
		w.MarkSize(80, 24)
		if err := w.Append([]byte("0123456789")); err != nil {
			t.Fatal(err)
		}
	}
	r := Open(dir)
	defer r.Close()
	if got := readAll(t, r, 0); len(got) != 1000 {
		t.Errorf("read %d bytes", len(got))
	}
}
