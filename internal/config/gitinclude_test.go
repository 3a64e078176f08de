package config

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
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
		if (key == "include.path" || section == "includeif" && strings.Count(key, ".") > 1 && strings.HasSuffix(key, ".path")) && !slices.Contains(values, value) {
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
	"[includeIf]\npath = a\n",
	"[include \"\"]\npath = a\n",
	"[include.x]\npath = a\n[include.]\npath = b\n",
	"[include]\npath = %(prefix)/../tmp/x\npath = \":(optional)x\"\npath = ~root/x\n",
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
		for _, value := range includes(text) {
			if taken && !slices.Contains(want, value) {
				t.Errorf("%q: %q, and git finds only %q", text, value, want)
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
		file := filepath.Join(t.TempDir(), "config")
		for _, value := range found {
			want, ok := gitsPath(t, value, file)
			paths, err := git.IncludedPaths(t.Context(), value, file, os.Getenv("HOME"))
			if ok && (err != nil || !slices.Contains(paths, want)) {
				t.Fatalf("%q: %q, %v, and to git it is %q", value, paths, err, want)
			}
		}
	})
}

// gitsPath returns what git itself takes a value of the type pathname for, in a file of
// settings; not ok where it takes it for none.
func gitsPath(t *testing.T, value, file string) (path string, ok bool) {
	t.Helper()
	cmd := exec.Command("git", "config", "--null", "--type=path", "--get", "x.y")
	cmd.Env = append(os.Environ(), "GIT_DIR="+os.DevNull, "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=x.y", "GIT_CONFIG_VALUE_0="+value)
	out, err := cmd.Output()
	if path = strings.TrimSuffix(string(out), "\x00"); err != nil || path == "" {
		return "", false
	}
	if !filepath.IsAbs(path) {
		path = filepath.Dir(file) + "/" + path
	}
	if strings.Contains(path, "/..") {
		return "", false // TestIncludedPaths has these
	}
	return filepath.Clean(path), true
}

// What git includes by its own prefix, by a home directory and as optional is found.
func TestIncludesThatGitExpands(t *testing.T) {
	testenv.NotUnderWine(t, "it has no git")
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("HOME", dir)
	if err := os.WriteFile(filepath.Join(dir, "inner"), []byte("[x]\ny = read\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config")
	for _, value := range []string{"%(prefix)" + strings.Repeat("/..", 12) + dir + "/inner", "%(prefix)/" + dir + "/inner", "~/inner", "inner", ":(optional)" + dir + "/inner"} {
		if err := os.WriteFile(file, []byte("[include]\npath = \""+value+"\"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		out, _ := exec.Command("git", "config", "--file", file, "--includes", "x.y").Output()
		paths, err := included(file)
		if found := slices.Contains(paths, filepath.Join(dir, "inner")); err != nil || !found || string(out) != "read\n" && !strings.HasPrefix(value, ":") {
			t.Errorf("%s: %q, %v, and git reads %q", value, paths, err, out)
		}
	}
}

func TestIncludedPaths(t *testing.T) {
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
		got, err := git.IncludedPaths(t.Context(), value, filepath.Join(dir, "config"), dir)
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %s, %v, want %s", value, got, err, want)
		}
	}
}
