package onwindows

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/windows"
)

// workspace is what the API tells of one.
type workspace struct{ ID, Name, Root, Path string }

// make asks for a workspace. It returns what was made, or why nothing was.
func makeWorkspace(t *testing.T, address, secret string, request map[string]string) (w workspace, refused string) {
	t.Helper()
	got := call(t, address, secret, http.MethodPost, "/api/v1/workspaces", request)
	if got.status == http.StatusUnprocessableEntity {
		var problem struct{ Detail string }
		if err := json.Unmarshal(got.body, &problem); err != nil {
			t.Fatal(err)
		}
		return w, problem.Detail
	}
	var created struct{ Workspace workspace }
	if err := json.Unmarshal(got.body, &created); err != nil || got.status/100 != 2 {
		t.Fatalf("%v is answered with %d: %s", request, got.status, got.body)
	}
	got = call(t, address, secret, http.MethodGet, "/api/v1/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	if err := json.Unmarshal(got.body, &w); err != nil || w.Root == "" {
		t.Fatalf("%v became %s", request, got.body)
	}
	return w, ""
}

// A path leads to the directory that its text names, or is refused in one sentence.
func TestPathsOfDirectories(t *testing.T) {
	w := newWorld(t)
	address, _, _ := w.serve()
	secret := strings.TrimSpace(w.run(0, "token", "create", "test", "--scope", "full"))
	above := t.TempDir()
	dir := filepath.Join(above, "My long directory.with dots")
	file := filepath.Join(above, "file")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct{ name, path, refused string }{
		{"itself", dir, ""},
		{"slashes", filepath.ToSlash(dir) + "/", ""},
		{"a detour", filepath.Join(dir) + `\..\` + filepath.Base(dir), ""},
		{"upper case", strings.ToUpper(dir), ""},
		{"short names", shortName(t, dir), ""},
		{"a dot at the end", dir + ".", "ends in a dot"},
		{"a space at the end", dir + " ", "ends in a dot or a space"},
		{"a stream", dir + ":stream", "a stream of a file"},
		{"the default stream", dir + "::$INDEX_ALLOCATION", "a stream of a file"},
		{"a device", above + `\NUL`, "the name of a device"},
		{"a device with an ending", above + `\con.txt`, "the name of a device"},
		{"a path of the object manager", `\\?\` + dir, "takes names of devices"},
		{"a device's path", `\\.\` + dir, "takes names of devices"},
		{"of the current directory of a drive", dir[:2] + filepath.Base(dir), "not an absolute path"},
		{"of the current drive", dir[2:], "not an absolute path"},
		{"a file", file, "not a directory"},
		{"nothing", filepath.Join(above, "none"), "there is no such directory"},
	} {
		made, refused := makeWorkspace(t, address, secret, map[string]string{"mode": "in-place", "directory": x.path})
		switch {
		case x.refused == "" && !strings.EqualFold(made.Root, dir):
			t.Errorf("%s: the workspace is at %q (%s), want %q", x.name, made.Root, refused, dir)
		case x.refused != "" && (!strings.Contains(refused, x.refused) || strings.Count(refused, "\n") > 0):
			t.Errorf("%s: %+v, %q, want %q", x.name, made, refused, x.refused)
		}
	}
}

// shortName returns a path with its 8.3 names.
func shortName(t *testing.T, path string) string {
	t.Helper()
	wide, err := windows.UTF16PtrFromString(path)
	if err != nil {
		t.Fatal(err)
	}
	buf := make([]uint16, windows.MAX_PATH)
	if _, err := windows.GetShortPathName(wide, &buf[0], uint32(len(buf))); err != nil {
		t.Fatal(err)
	}
	return windows.UTF16ToString(buf)
}

// What Windows would take for a device or a stream is a name like any other, because
// a workspace's directory has its id as its name.
func TestNamesOfWorkspaces(t *testing.T) {
	w := newWorld(t)
	address, _, _ := w.serve()
	secret := strings.TrimSpace(w.run(0, "token", "create", "test", "--scope", "full"))
	for typed, want := range map[string]string{
		"CON": "con", "nul.txt": "nul.txt", "COM1": "com1", "Fix It ": "fix-it", "dot.": "dot", "PROGRA~1": "progra-1",
		"a:stream": "a-stream", "b?*": "b", strings.Repeat("x", 100): strings.Repeat("x", 100),
		`a\b`: "", `..`: "", `C:\x`: "",
	} {
		made, refused := makeWorkspace(t, address, secret, map[string]string{"mode": "directory", "name": typed})
		if made.Name != want || (want == "") != (refused != "") {
			t.Errorf("%q is named %q (%s), want %q", typed, made.Name, refused, want)
		}
		if info, err := os.Stat(made.Root); want != "" && (err != nil || !info.IsDir() || filepath.Base(made.Root) != made.ID) {
			t.Errorf("%q is at %q: %v", typed, made.Root, err)
		}
	}
}

// A delete keeps each file of a directory whatever its name, and restore brings it
// back, by another server too. A session in it begins and ends as before.
func TestKeptAndRestored(t *testing.T) {
	w := newWorld(t)
	t.Cleanup(func() { // Wine lets an ordinary user remove no read-only file
		_ = filepath.WalkDir(`\\?\`+w.home, func(path string, _ fs.DirEntry, err error) error {
			_ = os.Chmod(path, 0o600) // if it was not, the removal says so
			return err
		})
	})
	_, _, end := w.serve()
	w.run(0, "new", "mine", "-d", "--mode", "directory", "--", self(t), "program", "echo")
	w.run(0, "wait", "mine", "--text", "ready", "--scrollback", "--timeout", "60s")
	root := strings.TrimSpace(w.run(0, "path", "mine"))
	files := map[string]string{
		"lines.txt": "one\r\ntwo\r\n", `Deep\` + strings.Repeat("d", 120) + `\` + strings.Repeat("e", 120) + `\file`: "deep",
		"aux.txt": "a device's name", "dot.": "ends in a dot", "space ": "ends in a space", "read-only": "kept",
		`e.\work`: "beside an empty e", `aux\file`: "in a device", `COM1.x\e \file`: "in both", `dir \file`: "in a space",
	}
	for name, text := range files {
		path := `\\?\` + filepath.Join(root) + `\` + name // as it is
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, empty := range []string{"e", "dir"} {
		if err := os.Mkdir(filepath.Join(root, empty), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(root, "read-only"), 0o400); err != nil {
		t.Fatal(err)
	}
	if text := w.run(1, "rm", "mine"); !strings.Contains(text, "mine") {
		t.Errorf("rm of work with a running session says %q", text)
	}
	w.run(0, "stop", "mine", "--grace", "0s")
	if text := w.run(1, "rm", "mine"); !strings.Contains(text, "10 untracked") {
		t.Errorf("rm of work says %q", text)
	}
	w.run(0, "rm", "mine", "--discard-work")
	if _, err := os.Lstat(root); err == nil {
		t.Errorf("%s is still there", root)
	}
	end()
	w.serve()
	w.run(0, "restore", "mine")
	root = strings.TrimSpace(w.run(0, "path", "mine"))
	found := 0
	if err := filepath.WalkDir(`\\?\`+root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			found++
		}
		return err
	}); err != nil || found != len(files) {
		t.Errorf("%d files were restored, want %d: %v", found, len(files), err)
	}
	for name, text := range files {
		if got, err := os.ReadFile(`\\?\` + root + `\` + name); err != nil || !bytes.Equal(got, []byte(text)) {
			t.Errorf("%q has %q, %v", name, got, err)
		}
	}
	w.run(0, "run", "mine", "-d", "--", self(t), "program", "echo")
	w.run(0, "wait", "mine", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "rm", "mine", "--discard-work", "--stop-sessions")
}
