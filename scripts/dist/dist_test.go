package main

import (
	"bytes"
	"debug/buildinfo"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestPackageVersion(t *testing.T) {
	for _, test := range []struct {
		described, want string
		final           bool
	}{
		{"v1.2.3", "1.2.3", true},
		{"v1.2.3-rc.1", "1.2.3~rc.1", false},
		{"v1.2.3-4-gabc1234", "1.2.3+4.gabc1234", false},
		{"v1.2.3-rc.1-4-gabc1234", "1.2.3~rc.1+4.gabc1234", false},
		{"v1.2.3-dirty", "1.2.3+dirty", false},
		{"v1.2.3-4-gabc1234-dirty", "1.2.3+4.gabc1234.dirty", false},
		{"abc1234", "0.0.0+77.gabc1234", false},
		{"abc1234-dirty", "0.0.0+77.gabc1234.dirty", false},
	} {
		got, final, err := packageVersion(test.described, 77)
		if got != test.want || final != test.final || err != nil {
			t.Errorf("%s is %q, a release: %v, %v; want %q, %v", test.described, got, final, err, test.want, test.final)
		}
	}
	for _, bad := range []string{"", "1.2.3", "v1.2", "v1.2.3.4", "v1.2.3-", "dev", "v1.2.3 -X evil=1", "v1.2.3\n"} {
		if got, _, err := packageVersion(bad, 1); err == nil {
			t.Errorf("%q is taken as version %q", bad, got)
		}
	}
}

func TestChangesOf(t *testing.T) {
	const text = "# Changelog\n\n## Unreleased\n\n- new\n\n## 1.1.0 (2026-01-01)\n\n- more\n### part\n- x\n\n## 1.0.0\n\n## 0.9.0\n- old\n"
	for version, want := range map[string]string{"Unreleased": "- new\n", "1.1.0": "- more\n### part\n- x\n", "0.9.0": "- old\n"} {
		if got, err := changesOf(text, version); got != want || err != nil {
			t.Errorf("%s changed %q, %v; want %q", version, got, err, want)
		}
	}
	for _, missing := range []string{"1.0.0", "2.0.0", "1.1"} {
		if got, err := changesOf(text, missing); err == nil {
			t.Errorf("%s changed %q", missing, got)
		}
	}
}

func testRelease() *release {
	return &release{described: "v1.2.3-rc.1", version: "1.2.3~rc.1", time: time.Unix(1_700_000_000, 0).UTC()}
}

// write makes files of every kind that a release has, with a time of their own.
func write(t *testing.T, when time.Time) []file {
	t.Helper()
	dir := t.TempDir()
	var list []file
	for _, name := range []string{"middleman", "man/man1/middleman.1", "man/man5/middleman-settings.5", "docs/guide.md", "completions/_middleman", "completions/middleman.bash", "completions/middleman.fish", "completions/middleman.ps1", "LICENSE", "README.md"} {
		path := filepath.Join(dir, filepath.Base(name))
		for _, path := range []string{path, path + packaged} {
			if err := os.WriteFile(path, []byte("this is "+name+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
		}
		mode := os.FileMode(0o644)
		if name == "middleman" {
			mode = 0o755
		}
		list = append(list, file{path, name, mode})
	}
	return list
}

// The same files give the same bytes, whenever and wherever they were written.
func TestSameBytes(t *testing.T) {
	r := testRelease()
	var outs []string
	for i := range 2 {
		out := t.TempDir()
		files := write(t, time.Unix(int64(1_000_000_000*(i+1)), 0))
		for _, to := range []target{{"linux", "amd64"}, {"windows", "arm64"}} {
			if err := r.archive(out, "middleman_"+to.os, to, files); err != nil {
				t.Fatal(err)
			}
		}
		for _, arch := range []string{"amd64", "arm64"} {
			if err := r.packages(out, t.TempDir(), target{"linux", arch}, files); err != nil {
				t.Fatal(err)
			}
		}
		if err := writeSums(out); err != nil {
			t.Fatal(err)
		}
		outs = append(outs, out)
	}
	first, second := read(t, outs[0], sums), read(t, outs[1], sums)
	if !bytes.Equal(first, second) {
		t.Errorf("one run wrote\n%sand another\n%s", first, second)
	}
	var names []string
	for line := range strings.Lines(string(first)) {
		names = append(names, strings.Fields(line)[1])
	}
	want := []string{
		"middleman-1.2.3~rc.1-1.aarch64.rpm", "middleman-1.2.3~rc.1-1.x86_64.rpm",
		"middleman_1.2.3~rc.1-1_amd64.deb", "middleman_1.2.3~rc.1-1_arm64.deb", "middleman_linux.tar.gz", "middleman_windows.zip",
	}
	if slices.Sort(names); !slices.Equal(names, want) {
		t.Errorf("the files are %q, want %q", names, want)
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// The list of parts names each module of the binary, here the test's own, and the
// web client's libraries.
func TestBOM(t *testing.T) {
	t.Chdir("../..")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	m, err := readBinary(self)
	if err != nil {
		t.Fatal(err)
	}
	info, err := buildinfo.ReadFile(self)
	if err != nil || len(info.Deps) < 3 {
		t.Fatalf("the test binary has %d modules, %v", len(info.Deps), err)
	}
	path := filepath.Join(t.TempDir(), "bom.json")
	if err := testRelease().bom(path, target{"linux", "amd64"}, m); err != nil {
		t.Fatal(err)
	}
	text := string(read(t, filepath.Dir(path), "bom.json"))
	for _, dep := range info.Deps {
		if !strings.Contains(text, `"name": "`+dep.Path+`"`) {
			t.Errorf("%s is not in the list", dep.Path)
		}
	}
	for _, want := range []string{`"pkg:npm/%40xterm/xterm@`, `"pkg:golang/std@`, `"pkg:golang/github.com/google/uuid@v`, m.digest, "2023-11-14T22:13:20Z", `"id": "BSD-3-Clause"`, `"id": "MIT"`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is not in the list:\n%.3000s", want, text)
		}
	}
	if strings.Contains(text, "GooglePatentsFile") {
		t.Error("the list has a licence that is not of SPDX")
	}
	licences, err := m.licences()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"\nGo go1.", "\ngithub.com/google/uuid v", "\n@xterm/xterm ", "\npreact "} {
		if !strings.Contains(string(licences), want) {
			t.Errorf("the licences say nothing of %q", want)
		}
	}
}

// Each directory of an archive has an entry: a strict umask leaves nothing unreadable.
func TestDirectories(t *testing.T) {
	got := directories("x", write(t, time.Unix(0, 0)))
	if want := []string{"x/", "x/completions/", "x/docs/", "x/man/", "x/man/man1/", "x/man/man5/"}; !slices.Equal(got, want) {
		t.Errorf("the directories are %q, want %q", got, want)
	}
}

// What is given out links to what is given out.
func TestLinks(t *testing.T) {
	t.Chdir("../..")
	given := map[string]bool{}
	for _, pattern := range documents {
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: %q, %v", pattern, names, err)
		}
		for _, name := range names {
			given[name] = true
		}
	}
	link := regexp.MustCompile(`\]\(([^)#\s]+)(?:#[^)\s]*)?\)`)
	links := 0
	for name := range given {
		if filepath.Ext(name) != ".md" {
			continue
		}
		for _, found := range link.FindAllSubmatch(read(t, ".", name), -1) {
			to := string(found[1])
			if strings.Contains(to, "://") {
				continue
			}
			links++
			if !given[filepath.Join(filepath.Dir(name), to)] {
				t.Errorf("%s links to %s, which is not given out", name, to)
			}
		}
	}
	if links < 30 {
		t.Errorf("only %d links were found", links)
	}
}

// A directory with something else in it is left alone.
func TestCleanRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"middleman_1_linux_amd64.tar.gz", "notes.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := clean(dir); err == nil || !strings.Contains(err.Error(), "notes.txt") {
		t.Errorf("clean said %v", err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("%d entries are left, %v", len(entries), err)
	}
	if err := os.Remove(filepath.Join(dir, "notes.txt")); err != nil {
		t.Fatal(err)
	}
	if err := clean(dir); err != nil {
		t.Error(err)
	}
}
