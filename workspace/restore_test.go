package workspace_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"middleman/workspace"
)

// loseWork makes a workspace with work in it and deletes it.
func loseWork(t *testing.T, m *workspace.Manager, repo string) workspace.Workspace {
	t.Helper()
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/precious", "work")
	commit(t, w.Root, "c.txt", "3\n")
	if loss, err := m.Delete(context.Background(), w, true, nil); err != nil || !loss.Restorable {
		t.Fatalf("%+v, %v", loss, err)
	}
	return w
}

func TestRestoreRefusals(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, m *workspace.Manager, w *workspace.Workspace)
		want error
	}{
		{"its place is taken", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			w.Root = filepath.Join(baseOf(*w), w.ID) // of an earlier version
			write(t, w.Root+"/mine", "x")
		}, workspace.ErrOccupied},
		{"of an unknown one", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			w.Root, w.ID = filepath.Join(filepath.Dir(w.Root), "w2"), "w2"
		}, workspace.ErrNoSnapshot},
		{"twice", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			if _, _, err := m.Restore(context.Background(), *w, nil); err != nil {
				t.Fatal(err)
			}
		}, workspace.ErrOccupied},
		{"in-place", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) { w.Mode = workspace.ModeInPlace }, workspace.ErrMissing},
		{"directory", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) { w.Mode = workspace.ModeDirectory }, workspace.ErrNoSnapshot},
		{"elsewhere", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) { w.Root = "/tmp/w1" }, workspace.ErrEscapes},
		{"a manifest that leads out", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w1","entry":"w1","files":[{"path":"Li4vZXZpbA==","mode":420}]}`) // ../evil
		}, workspace.ErrEscapes},
		{"an entry that leads out", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w1","entry":"../w1"}`)
		}, workspace.ErrEscapes},
		{"an entry that is the directory of entries", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w1","entry":"."}`)
		}, workspace.ErrEscapes},
		{"an entry that is the repository", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w1","entry":".."}`)
		}, workspace.ErrEscapes},
		{"a setting without a section", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			tip := runGit(t, w.Repository, "rev-parse", "main")
			plantManifest(t, *w, `{"version":1,"id":"w1","branch":{"name":"x","commit":"`+tip+`","config":[{"Key":"YQ=="}]}}`)
		}, nil},
		{"a branch that is an option", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			tip := runGit(t, w.Repository, "rev-parse", "main")
			plantManifest(t, *w, `{"version":1,"id":"w1","branch":{"name":"--help","commit":"`+tip+`"}}`)
		}, workspace.ErrBadSnapshot},
		{"a manifest of a later version", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":2,"id":"w1"}`)
		}, nil},
		{"another's manifest", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w2"}`)
		}, nil},
		{"a file that is not there", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) {
			plantManifest(t, *w, `{"version":1,"id":"w1","entry":"w1","files":[{"path":"eA==","mode":420,"blob":"`+strings.Repeat("1", 40)+`"}]}`)
		}, nil},
		{"repository gone", func(t *testing.T, m *workspace.Manager, w *workspace.Workspace) { os.RemoveAll(w.Repository) }, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			w := loseWork(t, m, newRepo(t))
			tc.do(t, m, &w)
			before, _ := os.ReadDir(base)
			_, _, err := m.Restore(context.Background(), w, nil)
			if err == nil || tc.want != nil && !errors.Is(err, tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %v, want %v", err, tc.want)
			}
			if after, _ := os.ReadDir(base); len(after) != len(before) {
				t.Errorf("in the base: %v, were %v", after, before)
			}
		})
	}
}

// plantManifest replaces the snapshot of w by one with another manifest.
func plantManifest(t *testing.T, w workspace.Workspace, manifest string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "manifest.json")
	write(t, path, manifest)
	blob := runGit(t, w.Repository, "hash-object", "-w", path)
	index := "GIT_INDEX_FILE=" + filepath.Join(t.TempDir(), "index")
	runGit(t, w.Repository, "update-ref", "refs/middleman/trash/w1", func() string {
		out, err := tryShell(w.Repository, index+" git update-index --add --cacheinfo 100644,"+blob+",manifest.json && "+
			"git commit-tree -m x $("+index+" git write-tree)")
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return out
	}())
}

// A branch that is somebody else's by the time of a restore stays theirs.
func TestRestoreBranch(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name string
		do   func(t *testing.T, w workspace.Workspace, tip string)
		want string
	}{
		{"free", func(*testing.T, workspace.Workspace, string) {}, "middleman/fix"},
		{"there, where it was", func(t *testing.T, w workspace.Workspace, tip string) {
			runGit(t, w.Repository, "branch", w.Branch, tip)
		}, "middleman/fix"},
		{"there, and moved", func(t *testing.T, w workspace.Workspace, tip string) {
			runGit(t, w.Repository, "branch", w.Branch, "main")
		}, "middleman/fix-2"},
		{"checked out elsewhere", func(t *testing.T, w workspace.Workspace, tip string) {
			runGit(t, w.Repository, "checkout", "-q", "-b", w.Branch, tip)
		}, "middleman/fix-2"},
		{"there, where it was, for another workspace", func(t *testing.T, w workspace.Workspace, tip string) {
			runGit(t, w.Repository, "update-ref", "--create-reflog", "-m", "middleman: workspace w9", "refs/heads/"+w.Branch, tip)
		}, "middleman/fix-2"},
		{"two are in the way", func(t *testing.T, w workspace.Workspace, tip string) {
			runGit(t, w.Repository, "branch", w.Branch, "main")
			runGit(t, w.Repository, "branch", w.Branch+"-2/x", "main")
		}, "middleman/fix-3"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			commit(t, w.Root, "c.txt", "3\n")
			write(t, w.Root+"/new", "x")
			tip := runGit(t, w.Root, "rev-parse", "HEAD")
			if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
				t.Fatal(err)
			}
			tc.do(t, w, tip)
			refs := runGit(t, w.Repository, "for-each-ref", "refs/heads/main", "refs/heads/middleman")
			back, notes, err := m.Restore(context.Background(), w, nil)
			if err != nil || back.Branch != tc.want || (len(notes) == 1) != (tc.want != w.Branch) {
				t.Fatalf("%+v, %q, %v", back, notes, err)
			}
			want := fmt.Sprintf("# branch.oid %s\n# branch.head %s\n? new", tip, tc.want)
			if got := runGit(t, w.Root, "status", "--porcelain=v2", "--branch"); got != want {
				t.Errorf("status %s, want %s", got, want)
			}
			for line := range strings.Lines(refs) {
				if now := runGit(t, w.Repository, "for-each-ref"); !strings.Contains(now, strings.TrimSpace(line)) {
					t.Errorf("refs:\n%s\nwere\n%s", now, refs)
				}
			}
			// It is a workspace as before, and can be deleted again.
			if _, err := m.Delete(context.Background(), back, true, nil); err != nil {
				t.Error(err)
			}
		})
	}
}

// A branch of a name that only plumbing makes stays at a delete, whose snapshot does
// not have it, and a restore is on it again.
func TestRestoreOnOddBranch(t *testing.T) {
	t.Parallel()
	for _, odd := range []string{"--help", "refs/q", strings.Repeat("a", 201)} {
		for _, own := range []bool{false, true} {
			m, _ := newManager(t)
			w := create(t, m, request(newRepo(t), "w1"))
			runGit(t, w.Repository, "update-ref", "refs/heads/"+odd, "main")
			runGit(t, w.Root, "symbolic-ref", "HEAD", "refs/heads/"+odd)
			commit(t, w.Root, "c.txt", "3\n")
			write(t, w.Root+"/new", "x")
			tip := runGit(t, w.Root, "rev-parse", "HEAD")
			if own {
				w.Branch = odd
			}
			if loss, err := m.Delete(context.Background(), w, true, nil); err != nil || !loss.Restorable {
				t.Fatalf("%q: %+v, %v", odd, loss, err)
			}
			if got := runGit(t, w.Repository, "rev-parse", "refs/heads/"+odd); got != tip {
				t.Errorf("%q after the delete: %s, want %s", odd, got, tip)
			}
			back, notes, err := m.Restore(context.Background(), w, nil)
			if err != nil || back.Branch != w.Branch || len(notes) > 0 {
				t.Fatalf("%q: %+v, %q, %v", odd, back, notes, err)
			}
			want := fmt.Sprintf("# branch.oid %s\n# branch.head %s\n? new", tip, odd)
			if got := runGit(t, w.Root, "status", "--porcelain=v2", "--branch"); got != want {
				t.Errorf("status %s, want %s", got, want)
			}
		}
	}
}

// A rebase that goes on after a restore moves the branch that was restored.
func TestRestoreRebaseUnderAnotherName(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	d := &dirtier{T: t, w: create(t, m, request(newRepo(t), "w1"))}
	d.root = d.w.Root
	runGit(t, d.w.Repository, "branch", "side")
	d.put("conflict", "x\n")
	d.git("add", "conflict")
	d.rebase()
	if _, err := m.Delete(context.Background(), d.w, true, nil); err != nil {
		t.Fatal(err)
	}
	runGit(t, d.w.Repository, "branch", d.w.Branch, "main")
	back, _, err := m.Restore(context.Background(), d.w, nil)
	if err != nil {
		t.Fatal(err)
	}
	d.put("conflict", "resolved\n")
	d.git("add", "conflict")
	d.git("rebase", "--continue")
	if got := runGit(t, d.root, "symbolic-ref", "--short", "HEAD"); got != "middleman/fix-2" || back.Branch != got {
		t.Errorf("on branch %s, workspace says %s", got, back.Branch)
	}
	if got, main := runGit(t, d.w.Repository, "rev-parse", d.w.Branch), runGit(t, d.w.Repository, "rev-parse", "main"); got != main {
		t.Errorf("the other's branch moved to %s", got)
	}
}

// What a plain delete takes with it that is nowhere else is kept as well:
// small ignored files, and commits that only the reflog has.
// A restore that lacks an object names it, changes nothing, and works once the
// object is back.
func TestRestoreWithoutAnObject(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/precious", "only here\n")
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Fatal(err)
	}
	copied := t.TempDir() + "/precious"
	write(t, copied, "only here\n")
	blob := strings.TrimSpace(runGit(t, repo, "hash-object", copied))
	if err := os.Remove(repo + "/.git/objects/" + blob[:2] + "/" + blob[2:]); err != nil {
		t.Fatal(err)
	}
	_, _, err := m.Restore(context.Background(), w, nil)
	if !errors.Is(err, workspace.ErrDamagedSnapshot) || !strings.Contains(err.Error(), "precious") || !strings.Contains(err.Error(), blob) {
		t.Fatalf("restore: %v", err)
	}
	if _, err := os.Lstat(w.Root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("half a workspace is there: %v", err)
	}
	runGit(t, repo, "hash-object", "-w", copied)
	if _, _, err := m.Restore(context.Background(), w, nil); err != nil {
		t.Errorf("with the object: %v", err)
	}
}

func TestDeleteKeepsIgnored(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name    string
		do      func(t *testing.T, root string)
		keep    bool
		unkept  []string
		missing []string
	}{
		{"nothing", func(*testing.T, string) {}, false, nil, nil},
		{"settings", func(t *testing.T, root string) { write(t, root+"/.env", "secret") }, true, nil, nil},
		{"a large file alone", func(t *testing.T, root string) { write(t, root+"/x.bin", strings.Repeat("x", 1<<20+1)) }, true, nil, nil},
		{"a program too large alone", func(t *testing.T, root string) { large(t, root+"/x.bin", "\x7fELF") }, false,
			[]string{"ignored x.bin (too large)"}, []string{"x.bin"}},
		{"a directory", func(t *testing.T, root string) { write(t, root+"/data/x", strings.Repeat("x", 2<<20)) }, true, nil, nil},
		{"a large directory alone", func(t *testing.T, root string) { write(t, root+"/build/x", strings.Repeat("x", 1<<20+1)) }, false,
			[]string{"ignored build/ (too large)"}, []string{"build"}},
		{"settings and a large directory", func(t *testing.T, root string) {
			write(t, root+"/.env", "secret")
			for i := range 1001 {
				write(t, fmt.Sprintf("%s/build/%d", root, i), "")
			}
		}, true, []string{"ignored build/ (too large)"}, []string{"build"}},
		{"an amended commit", func(t *testing.T, root string) {
			commit(t, root, "c.txt", "1\n")
			runGit(t, root, "reset", "-q", "--hard", "HEAD~1")
		}, true, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, base := newManager(t)
			repo := newRepo(t)
			write(t, repo+"/.git/info/exclude", ".env\nbuild/\ndata/\n*.bin\n")
			w := create(t, m, request(repo, "w1"))
			tc.do(t, w.Root)
			before := fingerprint(t, w.Root, append(tc.missing, ".git", "."))
			loss, err := m.Delete(context.Background(), w, false, nil)
			if err != nil || loss.Restorable != tc.keep || !slices.Equal(loss.Unkept, tc.unkept) {
				t.Fatalf("%+v, %v", loss, err)
			}
			if entries, _ := os.ReadDir(base); len(entries) != 0 {
				t.Errorf("left behind: %v", entries)
			}
			if !tc.keep {
				return
			}
			_, notes, err := m.Restore(context.Background(), w, nil)
			if err != nil || len(notes) != len(tc.unkept) {
				t.Fatalf("%q, %v", notes, err)
			}
			if after := fingerprint(t, w.Root, []string{".git", "."}); len(tc.missing) == 0 && after != before {
				t.Errorf("files: %s", firstDifference(before, after))
			}
		})
	}
}

// large makes a file that is too large to be kept if it is ignored.
func large(t *testing.T, path, start string) {
	write(t, path, start)
	if err := os.Truncate(path, 32<<20+1); err != nil {
		t.Fatal(err)
	}
}

// What is too large to be kept, and nothing will make again, is a reason to refuse.
func TestDeleteRefusesLargeIgnored(t *testing.T) {
	t.Parallel()
	file := func(name, start string) func(*testing.T, string) {
		return func(t *testing.T, root string) { large(t, root+"/"+name, start) }
	}
	for _, tc := range []struct {
		name  string
		do    func(t *testing.T, root string)
		large []string
	}{
		{"a database", file("dev.db", "SQLite format 3"), []string{"dev.db (32.0 MiB: too large)"}},
		{"a program", file("dev.db", "\x7fELF"), nil},
		{"a log", file("dev.log", "text"), nil},
		{"a directory", file("sub/uploads/x", "text"), []string{"sub/uploads/ (32.0 MiB: too large)"}},
		{"many files", func(t *testing.T, root string) {
			for i := range 1001 {
				write(t, fmt.Sprintf("%s/uploads/%d", root, i), "")
			}
		}, []string{"uploads/ (1001 files, 0.0 MiB: too large)"}},
		{"build results", file("sub/Target/x", "text"), nil},
		{"a cache that says so", func(t *testing.T, root string) {
			large(t, root+"/uploads/x", "text")
			write(t, root+"/uploads/CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n")
		}, nil},
		{"a cache that another file describes", func(t *testing.T, root string) {
			large(t, root+"/uploads/x", "text")
			write(t, root+"/tag", "Signature: 8a477f597d28d172789f06886806bc55\n")
			if err := os.Symlink("../tag", root+"/uploads/CACHEDIR.TAG"); err != nil {
				t.Fatal(err)
			}
		}, []string{"uploads/ (2 files, 32.0 MiB: too large)"}},
		{"too much together", func(t *testing.T, root string) {
			for i := range 5 {
				write(t, fmt.Sprintf("%s/%d.db", root, i), "text")
				if err := os.Truncate(fmt.Sprintf("%s/%d.db", root, i), 32<<20); err != nil {
					t.Fatal(err)
				}
			}
		}, []string{"4.db (32.0 MiB: too large)"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			m, _ := newManager(t)
			repo := newRepo(t)
			write(t, repo+"/.git/info/exclude", "*.db\n*.log\nuploads/\nTarget/\n/tag\n")
			w := create(t, m, request(repo, "w1"))
			tc.do(t, w.Root)
			seen, err := m.Inspect(context.Background(), w)
			if err != nil || !slices.Equal(seen.Large, tc.large) || seen.Empty() != (tc.large == nil) {
				t.Fatalf("%+v, %v", seen, err)
			}
			for _, remove := range []func(context.Context, workspace.Workspace, bool, workspace.Progress) (workspace.Loss, error){m.Delete, m.DeleteInspected} {
				if tc.large == nil {
					break
				}
				_, err := remove(context.Background(), w, false, nil)
				if refused, ok := errors.AsType[*workspace.WorkError](err); !ok || len(refused.Loss.Large) != len(tc.large) {
					t.Fatalf("without consent: %v", err)
				}
				if now, err := m.Inspect(context.Background(), w); err != nil || !reflect.DeepEqual(now, seen) {
					t.Fatalf("after the refusal: %+v, %v", now, err)
				}
			}
			if _, err := m.Delete(context.Background(), w, tc.large != nil, nil); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// A repository among ignored files is kept whatever its size, and counts for no limit.
func TestLargeIgnoredRepositoryIsKept(t *testing.T) {
	t.Parallel()
	m, _ := newManager(t)
	repo := newRepo(t)
	write(t, repo+"/.git/info/exclude", "tmp/\n")
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/tmp/small", "1\n")
	runGit(t, w.Root, "init", "-q", "tmp/nest")
	large(t, w.Root+"/tmp/nest/x", "text")
	seen, err := m.Inspect(context.Background(), w)
	if err != nil || len(seen.Unkept)+len(seen.Large) != 0 || seen.Empty() {
		t.Fatalf("%+v, %v", seen, err)
	}
	before := fingerprint(t, w.Root, []string{".git", "."})
	if gone, err := m.Delete(context.Background(), w, true, nil); err != nil || len(gone.Unkept) != 0 {
		t.Fatalf("%+v, %v", gone, err)
	}
	if _, notes, err := m.Restore(context.Background(), w, nil); err != nil || len(notes) != 0 {
		t.Fatalf("%q, %v", notes, err)
	}
	if after := fingerprint(t, w.Root, []string{".git", "."}); after != before {
		t.Errorf("files: %s", firstDifference(before, after))
	}
}

// A delete that cannot keep what it would destroy does not destroy it.
func TestDeleteThatCannotKeep(t *testing.T) {
	t.Parallel()
	m, base := newManager(t)
	repo := newRepo(t)
	w := create(t, m, request(repo, "w1"))
	write(t, w.Root+"/precious", "x")
	write(t, repo+"/.git/refs/middleman", "in the way of our refs\n")
	before := fingerprint(t, w.Root, nil) + runGit(t, w.Root, "status", "--porcelain=v2", "--branch")
	_, err := m.Delete(context.Background(), w, true, nil)
	if !errors.Is(err, workspace.ErrNotKept) || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %v", err)
	}
	if after := fingerprint(t, w.Root, nil) + runGit(t, w.Root, "status", "--porcelain=v2", "--branch"); after != before {
		t.Errorf("not as it was: %s", firstDifference(before, after))
	}
	if entries, err := os.ReadDir(base); err != nil || len(entries) != 1 {
		t.Errorf("base: %v, %v", entries, err)
	}
	if err := os.Remove(repo + "/.git/refs/middleman"); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Delete(context.Background(), w, true, nil); err != nil {
		t.Error(err)
	}
}
