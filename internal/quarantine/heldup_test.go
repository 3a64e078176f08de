package quarantine_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/quarantine"
)

// soon is how long an import may take that finds a file which git cannot read: a second
// until it is looked for, and what a starved machine needs. A git that hangs has two
// minutes.
const soon = 30 * time.Second

// oddPlaces are files of a private directory that git reads, in C, that of the
// repository, and in G, that of the checkout. For those that are missing from a private
// directory, make says how they come to be read.
var oddPlaces = []struct{ path, make string }{
	{"G/HEAD", ""}, {"C/HEAD", ""}, {"C/packed-refs", ""}, {"C/refs/heads/x", ""}, {"C/refs/tags/deep/er/x", ""}, {"G/refs/bisect/x", ""},
	{"C/refs/stash", ""}, {"C/logs/refs/stash", "echo s >file; git stash -q"}, {"C/logs/HEAD", ""}, {"G/logs/HEAD", ""}, {"C/config", ""},
	{"C/config.worktree", "git config extensions.worktreeConfig true"}, {"G/config.worktree", "git config extensions.worktreeConfig true"},
	{"C/info/exclude", ""}, {"C/info/attributes", ""}, {"C/info/grafts", ""}, {"C/objects/info/alternates", ""},
	{"C/objects/info/commit-graph", ""}, {"C/objects/info/commit-graphs/commit-graph-chain", ""}, {"C/objects/info/packs", ""},
	{"C/objects/pack/multi-pack-index", ""}, {"C/objects/pack/pack-1234567812345678123456781234567812345678.idx", "touch $C/objects/pack/pack-1234567812345678123456781234567812345678.pack"},
	{"C/objects/pack/pack-1234567812345678123456781234567812345678.pack", ""}, {"C/objects/OBJECT", ""}, {"C/shallow", ""}, {"G/index", ""},
	{"G/sharedindex.1234567812345678123456781234567812345678", ""}, {"G/ORIG_HEAD", ""}, {"G/FETCH_HEAD", ""}, {"G/MERGE_HEAD", ""}, {"G/AUTO_MERGE", ""},
	{"G/commondir", ""}, {"G/gitdir", ""}, {"G/locked", ""}, {"C/commondir", ""}, {"C/gitdir", ""},
	{"C/worktrees/other/HEAD", "mkdir -p $C/worktrees/other; echo ../.. >$C/worktrees/other/commondir; echo /nowhere/.git >$C/worktrees/other/gitdir"},
	{"C/worktrees/other/gitdir", ""}, {"C/worktrees/other/commondir", ""}, {"G/rebase-merge/autostash", ""}, {"G/rebase-merge/head-name", ""},
	{"C/reftable/tables.list", ""}, {"C/modules/x/HEAD", ""}, {"C/lfs/objects/aa", ""}, {"C/more", "git config include.path more"},
}

// oddKinds say how the path P becomes something that git cannot read.
var oddKinds = []struct {
	name, script string
}{
	{"a FIFO", `mkfifo $P`},
	{"a link to a FIFO", `mkfifo $C/a-fifo; ln -s $C/a-fifo $P`},
	{"a link to a terminal", `ln -s /dev/ptmx $P`},
	{"a link to a device", `ln -s /dev/zero $P`},
	{"nine gigabytes", `truncate -s 9G $P`},
	{"a socket", `cd $(dirname $P); python3 -c 'import socket,sys; socket.socket(socket.AF_UNIX).bind(sys.argv[1])' $(basename $P)`},
	{"a directory", `mkdir $P; touch $P/x`},
	{"a loop", `ln -s $(basename $P) $P`},
}

// Whatever a program puts in the place of a file of the private directory, an import ends
// soon. It brings what was committed, or names the file, and then brings it as soon as that
// is gone. No process stays.
func TestOddFiles(t *testing.T) {
	for at, place := range oddPlaces {
		t.Run(place.path, func(t *testing.T) {
			t.Parallel()
			x := newWorld(t)
			x.prepare(false)
			for n, kind := range oddKinds {
				// Each place is a FIFO, and a quarter of the other kinds is enough to find a place
				// that is forgotten.
				if n > 0 && (at+n)%4 > 0 && os.Getenv("MIDDLEMAN_LONG") == "" {
					continue
				}
				testOddFile(t, x, n, kind.name, place.path, place.make, kind.script)
			}
		})
	}
}

func testOddFile(t *testing.T, x *world, n int, kind, path, how, script string) {
	dir := filepath.Join(x.top, "quarantine", quarantine.GitDirectory)
	script = fmt.Sprintf(`C=$(git rev-parse --git-common-dir); G=$(git rev-parse --git-dir); echo %d >new; git add new; git commit -qm new%[1]d; O=$(git rev-parse HEAD:new)
		%s
		O=${O%%${O#??}}/${O#??}; P=%s; mkdir -p $(dirname $P); test ! -e $P || mv $P $C/was; echo $P; %s`, n, how,
		strings.NewReplacer("C/", "$C/", "G/", "$G/", "OBJECT", "$O").Replace(path), script)
	at, err := x.try(script)
	if err != nil {
		t.Fatalf("%s: %v\n%s", kind, err, at)
	}
	at = filepath.Join(dir, strings.TrimPrefix(at, x.w.GitDir))
	began := time.Now()
	_, err = x.q.Import(t.Context())
	took := time.Since(began)
	if took > soon {
		t.Errorf("%s: the import took %v", kind, took)
	}
	if err != nil && (!errors.Is(err, quarantine.ErrUnreadable) || !names(err, at)) {
		t.Errorf("%s: the import says %v", kind, err)
	}
	if left := processesNaming(t, x.top); left != nil {
		t.Errorf("%s: these processes stay: %q", kind, left)
	}
	if err := os.RemoveAll(at); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "was"), at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "a-fifo")); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	x.bring()
	if got, want := x.repo.Git("log", "-1", "--format=%s", ownBranch), fmt.Sprintf("new%d", n); got != want {
		t.Errorf("%s: the branch is at %q, want %q", kind, got, want)
	}
}

// names reports whether err names the file, or the FIFO that it leads to, or the
// configuration that includes it.
func names(err error, file string) bool {
	text := err.Error()
	return strings.Contains(text, filepath.Base(file)) || strings.Contains(text, "/a-fifo is a FIFO") ||
		filepath.Base(file) == "more" && strings.Contains(text, "bad config line 18 in file ")
}

// processesNaming returns the command lines of other processes that have text in them.
func processesNaming(t *testing.T, text string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		line, err := os.ReadFile(file)
		if err == nil && file != fmt.Sprintf("/proc/%d/cmdline", os.Getpid()) && strings.Contains(string(line), text) {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
