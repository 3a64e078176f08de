package workspace

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What reads git's output runs in a goroutine of os/exec's, where a panic would
// end the process.
func TestPanicIsAnError(t *testing.T) {
	c := command{dir: t.TempDir(), args: []string{"version"}, lines: true, each: func(string) { panic("odd\nrecord") }}
	_, err := c.run(context.Background())
	if p, ok := errors.AsType[*PanicError](err); !ok || strings.Contains(err.Error(), "\n") || !strings.Contains(p.At, "records_test.go:") {
		t.Errorf("%v", err)
	}
	c = command{dir: t.TempDir(), args: []string{"no-such-command"}}
	c.errors = writer(func([]byte) (int, error) { panic("odd progress") })
	_, err = c.run(context.Background())
	if p, ok := errors.AsType[*PanicError](err); !ok || p.Value != "odd progress" {
		t.Errorf("%v", err)
	}
	func() {
		defer containing("w\n1", &err)
		var none []int
		none[0]++
	}()
	if p, ok := errors.AsType[*PanicError](err); !ok || !strings.HasPrefix(err.Error(), `workspace "w\n1": a fault`) || !strings.Contains(p.At, "records_test.go:") {
		t.Errorf("%v", err)
	}
}

// A list that git begins, gives up and begins anew is taken once.
func TestListTakenOnce(t *testing.T) {
	dir := t.TempDir()
	script := "#!/bin/sh\nprintf 'worktree /a\\0branch refs/heads/a\\0\\0'\n" +
		"test -e " + dir + "/met && exit\n>" + dir + "/met; echo \"fatal: failed to read '/a/.git/worktrees/b/locked': gone\" >&2; exit 128\n"
	if err := os.WriteFile(dir+"/git", []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	list, err := worktrees(context.Background(), gitDirs{gitDir: dir, commonDir: dir})
	if want := []worktree{{"/a", "refs/heads/a"}}; err != nil || !slices.Equal(list, want) {
		t.Errorf("%+v, %v, want %+v", list, err, want)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// FuzzRecords gives records to all that reads those of git's.
func FuzzRecords(f *testing.F) {
	f.Add([]byte("# branch.oid x\x00# branch.head main\x00# branch.upstream o/main\x00# branch.ab +1 -2\x001 .M N... a\x00u UU b\x00? c\x001 \x001 M"))
	f.Add([]byte(":100644 100644 1 2 M\x00a\x00:100644 100644 1 2 R100\x00a\x00b\x001\t2\ta\x001\t2\t\x00a\x00b\x00-\t-\tc\x00: \x00"))
	f.Add([]byte("core.filemode\ntrue\x00branch.a\nb.merge\nrefs/heads/x\x00remote.o.url\next::sh\x00core.fsmonitor\nevil\x00branch\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s settings
		status := statusParser{status: &Status{Files: &Files{}}}
		files := &filesParser{diff: Diff{Files: []FileChange{}}, at: map[string]int{}}
		config := filterSettings{out: &s}
		records := &splitter{each: func(record string) {
			status.take(record)
			files.take(record)
			config.take(record)
		}}
		if _, err := records.Write(data); err != nil {
			if _, ok := errors.AsType[*PanicError](err); ok {
				t.Fatal(err)
			}
			return
		}
		_ = status.status.upstream(status.ab) // what are no numbers is an error
		for _, f := range files.diff.Files {
			if strings.ContainsFunc(f.Path, func(r rune) bool { return !strconv.IsPrint(r) }) {
				t.Errorf("path %q", f.Path)
			}
		}
		checkTaken(t, s.text)
	})
}

// checkTaken has git read settings that were taken over: all of them are
// harmless.
func checkTaken(t *testing.T, text string) {
	if text == "" || strings.ContainsRune(text, 0) {
		return
	}
	var taken settings
	again := filterSettings{out: &taken}
	if err := again.read(context.Background(), t.TempDir(), []byte(text)); err != nil {
		return // git refuses it, and looks at nothing
	}
	if taken.risky {
		t.Errorf("more than what is harmless: %q", text)
	}
}

// FuzzSplitter cuts output anywhere: the records are the same.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\x00b\x00\x00c"), 3)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		read := func(parts ...[]byte) (list []string) {
			s := &splitter{each: func(record string) { list = append(list, record) }}
			for _, part := range parts {
				if _, err := s.Write(part); err != nil {
					return append(list, err.Error())
				}
			}
			return append(list, string(s.rest))
		}
		if at < 0 || at > len(data) || len(data) > maxRecord {
			return
		}
		want := strings.Split(string(data), "\x00")
		if got := read(bytes.Clone(data[:at]), data[at:]); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
