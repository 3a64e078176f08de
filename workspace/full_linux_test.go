package workspace_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/testenv"
	"middleman/workspace"
)

// onSmallDisk returns a workspace whose repository is on a file system of so many KiB.
func onSmallDisk(t *testing.T, kib string) (*workspace.Manager, workspace.Workspace) {
	t.Helper()
	disk := t.TempDir()
	testenv.SmallDisk(t, disk, kib)
	repo := filepath.Join(disk, "repo")
	if err := os.CopyFS(repo, os.DirFS(newRepo(t))); err != nil {
		t.Fatal(err)
	}
	m, _ := newManager(t)
	return m, create(t, m, request(repo, "w1"))
}

// noise writes a file that does not get smaller by compression.
func noise(t *testing.T, path string, bytes int) {
	t.Helper()
	content := make([]byte, bytes)
	rand.Read(content)
	write(t, path, string(content))
}

// A snapshot that does not fit into the repository is refused before anything is written,
// or leaves nothing: the user's own git has as much room as before.
func TestDeleteOnAFullDisk(t *testing.T) {
	const mib = 1 << 20
	for _, x := range []struct {
		name, kib string
		make      func(t *testing.T, root string)
		want      string
	}{
		{"clearly too large", "20480", func(t *testing.T, root string) { noise(t, root+"/big", 30*mib) },
			"its snapshot needs about 30.0 MiB, and the disk with"},
		{"names the largest", "20480", func(t *testing.T, root string) { noise(t, root+"/big", 30*mib) },
			"move large files out of the workspace first (the largest is big, 30.0 MiB)"},
		{"one file, nearly", "26624", func(t *testing.T, root string) { noise(t, root+"/big", 30*mib) }, "No space left on device"},
		{"many files, nearly", "26624", func(t *testing.T, root string) {
			for n := range 30 {
				noise(t, fmt.Sprintf("%s/dir/%d", root, n), mib)
			}
		}, "unable to write"},
		{"fits compressed", "20480", func(t *testing.T, root string) { write(t, root+"/zeros", string(make([]byte, 30*mib))) }, ""},
		{"is there already", "20480", func(t *testing.T, root string) {
			noise(t, root+"/big", 11*mib)
			runGit(t, root, "hash-object", "-w", "big")
		}, ""},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			m, w := onSmallDisk(t, x.kib)
			x.make(t, w.Root)
			before, files := objects(t, w.Repository), namesIn(w.Root)
			loss, err := m.Delete(context.Background(), w, true, nil)
			if x.want == "" {
				if err != nil || !loss.Restorable {
					t.Fatalf("%+v, %v", loss, err)
				}
				if _, _, err := m.Restore(context.Background(), w, nil); err != nil || namesIn(w.Root) != files {
					t.Errorf("restored: %s, %v", namesIn(w.Root), err)
				}
				return
			}
			if !errors.Is(err, workspace.ErrNotKept) || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("delete: %v", err)
			}
			if after := objects(t, w.Repository); after != before {
				t.Errorf("left in the repository: %s", firstDifference(before, after))
			}
			if namesIn(w.Root) != files {
				t.Errorf("in the workspace: %s", namesIn(w.Root))
			}
			commit(t, w.Repository, "mine", strings.Repeat("x", mib))
		})
	}
}

// What a killed delete had stored goes when it is undone, and when it is begun again.
func TestStaleSnapshotObjects(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		name string
		do   func(m *workspace.Manager, w workspace.Workspace) error
	}{
		{"undone", func(m *workspace.Manager, w workspace.Workspace) error {
			_, err := m.PutBack(w)
			return err
		}},
		{"begun again", func(m *workspace.Manager, w workspace.Workspace) error {
			_, err := m.Delete(context.Background(), w, true, nil)
			return err
		}},
	} {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			write(t, w.Root+"/mine", "x")
			stale := filepath.Join(w.GitDir, "objects", "tmp_objdir-middleman-w1")
			other := filepath.Join(w.GitDir, "objects", "tmp_objdir-middleman-w10")
			for _, dir := range []string{stale, other} {
				write(t, dir+"/41/tmp_obj_abcdef", "half")
			}
			if err := x.do(m, w); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Lstat(stale); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("it is still there: %v", err)
			}
			if _, err := os.Lstat(other); err != nil {
				t.Errorf("that of another workspace: %v", err)
			}
		})
	}
}
