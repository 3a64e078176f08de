package private_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/windows"

	"middleman/internal/private"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// describe returns the owner and the access control list of a file, as text.
func describe(t *testing.T, path string) string {
	t.Helper()
	sd, err := windows.GetNamedSecurityInfo(path, windows.SE_FILE_OBJECT, windows.OWNER_SECURITY_INFORMATION|windows.DACL_SECURITY_INFORMATION)
	must(t, err)
	return sd.String()
}

func userSID(t *testing.T) string {
	t.Helper()
	user, err := windows.GetCurrentProcessToken().GetTokenUser()
	must(t, err)
	return user.User.Sid.String()
}

// A directory is for this user alone from its first moment on, and so is what is
// made in it.
func TestMakeDir(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a", "b")
	must(t, private.MakeDir(path))
	must(t, private.MakeDir(path)) // it is there already
	for _, at := range []string{filepath.Dir(path), path} {
		sd := describe(t, at)
		others := strings.NewReplacer("(A;OICI;FA;;;SY)", "", "(A;OICI;FA;;;"+userSID(t)+")", "").Replace(sd)
		if !strings.HasPrefix(sd, "O:"+userSID(t)) || strings.Contains(others, "(") || others == sd {
			t.Errorf("%s has %s", at, sd)
		}
	}
	must(t, private.Replace(filepath.Join(path, "file"), []byte("text"), private.Durable))
	text, err := private.ReadFile(filepath.Join(path, "file"))
	if string(text) != "text" || err != nil {
		t.Errorf("read %q, %v", text, err)
	}
	if found := private.Survey(path); len(found) > 0 {
		t.Errorf("found %v", found)
	}
}

// Who makes directories at once makes the same ones.
func TestMakeDirAtOnce(t *testing.T) {
	for range 20 {
		path := filepath.Join(t.TempDir(), "a", "b", "c")
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() {
				if err := private.MakeDir(path); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
	}
}

func TestDirRefusesOtherKinds(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := private.Dir(file); err == nil || !strings.Contains(err.Error(), "not a directory") {
		t.Errorf("a file: %v", err)
	}
	if err := private.Dir(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing one: %v", err)
	}
	if _, err := private.Open(dir); err == nil || !strings.Contains(err.Error(), "not a file") {
		t.Errorf("open a directory: %v", err)
	}
	if err := private.Below(dir, filepath.Dir(dir)); err == nil {
		t.Error("a directory above is below")
	}
}

// Who reads a file of ours does not keep it from being replaced for longer than
// the reading takes.
func TestReplaceWhileRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	must(t, private.Replace(path, []byte("old"), private.Durable))
	f, err := private.Open(path)
	must(t, err)
	replaced := make(chan error, 1)
	go func() { replaced <- private.Replace(path, []byte("new"), private.Durable) }()
	text, err := io.ReadAll(f)
	if string(text) != "old" || err != nil {
		t.Errorf("the open file reads %q, %v", text, err)
	}
	must(t, f.Close())
	must(t, <-replaced)
	text, err = private.ReadFile(path)
	if string(text) != "new" || err != nil {
		t.Errorf("the new file reads %q, %v", text, err)
	}
}

// A log is appended to, whoever else writes to it.
func TestAppend(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	one, err := private.Append(path)
	must(t, err)
	defer one.Close()
	other, err := private.Append(path)
	must(t, err)
	defer other.Close()
	for _, f := range []*os.File{one, other, one} {
		_, err := f.WriteString("x")
		must(t, err)
	}
	if text, err := private.ReadFile(path); string(text) != "xxx" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestUnnamed(t *testing.T) {
	dir := t.TempDir()
	f, err := private.Unnamed(dir, "x-*")
	must(t, err)
	_, err = f.WriteAt([]byte("text"), 0)
	must(t, err)
	must(t, f.Close())
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left %v, %v", left, err)
	}
}

// A lock excludes other processes, and is free once its holder was killed.
func TestLockIsProofOfLife(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if _, err := private.TryShare(path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("share a missing file: %v", err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "MIDDLEMAN_TEST_HOLD="+path)
	in, err := cmd.StdinPipe()
	must(t, err)
	defer in.Close()
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	if strings.TrimSpace(line) != "<nil>" {
		t.Fatalf("the other process: %q, %v", line, err)
	}
	if held, err := private.IsHeld(path); !held || err != nil {
		t.Errorf("held: %t, %v", held, err)
	}
	if _, err := private.TryLock(path); !errors.Is(err, private.ErrHeld) {
		t.Errorf("a second lock: %v", err)
	}
	must(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	lock, err := private.AwaitLock(ctx, path)
	must(t, err)
	must(t, lock.Close())
}
