package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// gitsOwn returns what git itself finds in a file of settings, and whether it takes it.
func gitsOwn(t *testing.T, text string) (values []string, taken bool) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("git", "config", "--file", file, "--no-includes", "--null", "--list")
	out, err := cmd.Output()
	for record := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		key, value, _ := strings.Cut(record, "\n")
		section, _, _ := strings.Cut(key, ".")
		if (key == "include.path" || section == "includeif" && strings.HasSuffix(key, ".path")) && !slices.Contains(values, value) {
			values = append(values, value)
		}
	}
	return values, err == nil
}

// oddSettings are spellings of includes in git's settings.
var oddSettings = []string{
	"[include]\n\tpath = a\n",
	"[include]path=a",
	"[InClude]\nPATH = a",
	"\ufeff[include]\r\npath = a\r\npath = b\r\n",
	"[include]\npath = a ; b\n path = \"a # b\" # c\n",
	"[include]\npath = /a/\\\nb\n",
	"[include]\npath = a\"b c\"d  \n",
	"[include]\npath = \"a\\tb\\\\c\\\"\"\n",
	"[include]\npath\n",
	"[include]\npath =\n",
	"[include \"x\"]\npath = a\n",
	"[includeIf \"gitdir:~/x]\\\"\"]\npath = a\n",
	"[includeif \"hasconfig:remote.*.url:https://x/**\"] path = a\n",
	"[includeIf.onbranch]\npath = a\n",
	"[core]\n# [include]\n; path = b\npath = c\n[include] # x\npath = a",
	"[core]\nx = a\\\n[include]\npath = b\n",
	"[core]\nx = \"\\\n[include]\npath = b\"\n",
	"[a]b=c\n[include]path=\"\"x\"\"\n[d]path = e",
	"[include]\n\tother = a\n\tpath = b\n[include]\n\tpath = c",
	"[include\t\"\"]\npath = q",
	"[include] path = a\\q",
	"path = a\n[include]\npath = b",
	"[include]\n1 = 2\npath = b",
	"[include]\npath = \"a\nb\"\npath = c",
	"[include]\n\x0bpath\x0b=\x0ba\n",
	"[include]\npath = a\x00b\n",
}

func TestIncludesAsGitReads(t *testing.T) {
	for _, text := range oddSettings {
		want, taken := gitsOwn(t, text)
		for _, value := range want {
			if got := includes(text); taken && !slices.Contains(got, value) {
				t.Errorf("%q: %q, and git finds %q", text, got, want)
			}
		}
	}
}

// FuzzIncludes: each include that git finds is found.
func FuzzIncludes(f *testing.F) {
	for _, text := range oddSettings {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := includes(text)
		if !strings.Contains(strings.ToLower(text), "path") {
			return
		}
		want, taken := gitsOwn(t, text)
		for _, value := range want {
			if taken && !slices.Contains(found, value) {
				t.Fatalf("%q, and git finds %q", found, want)
			}
		}
	})
}

func TestIncludedPath(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "there", "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "there", "deep"), filepath.Join(dir, "link")); err != nil {
		t.Skip(err) // on Windows a privilege
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	above := filepath.Join(real, "there") // of where the link leads
	if runtime.GOOS == "windows" {
		above = dir // Windows takes the name before ".." away without looking at it
	}
	t.Setenv("HOME", dir)
	for value, want := range map[string]string{
		"x": filepath.Join(dir, "x"), "~/a/b": filepath.Join(dir, "a", "b"), "": "", "~nobody-of-that-name/x": "",
		"link/../x": filepath.Join(above, "x"), "~/link/../x": filepath.Join(above, "x"),
		"missing/../x": filepath.Join(dir, "x"), filepath.Join(dir, "q"): filepath.Join(dir, "q"),
	} {
		if got := includedPath(value, filepath.Join(dir, "config")); filepath.Clean(got) != filepath.Clean(want) {
			t.Errorf("%s: %s, want %s", value, got, want)
		}
	}
}
