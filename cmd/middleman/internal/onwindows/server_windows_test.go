package onwindows

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/testenv"
)

// The whole server: it answers by its pipe and by TCP, keeps what it knows in
// SQLite, starts a session, and finds it again after it was killed.
func TestServer(t *testing.T) {
	w := newWorld(t)
	address, link, end := w.serve()
	if !strings.Contains(link, "/#login=") {
		t.Errorf("serve printed the link %q", link)
	}
	if _, err := os.Stat(filepath.Join(w.home, "data", "middleman.db")); err != nil {
		t.Error(err)
	}
	w.run(0, "new", "first", "-d", "--mode", "directory", "--", self(t), "program", "echo")
	w.run(0, "wait", "first", "--text", "ready", "--scrollback", "--timeout", "60s")
	before := w.only("first")
	if before.State != "running" || before.Backend != "pty-owner" || before.PID == 0 {
		t.Errorf("the session is %+v", before)
	}
	w.run(0, "send", "first", "--enter", "one")
	w.run(0, "wait", "first", "--text", "<one>", "--scrollback", "--timeout", "60s")

	secret := strings.TrimSpace(w.run(0, "token", "create", "test", "--scope", "full"))
	if got := ask(t, address, secret, "/api/v1/workspaces"); got.status != http.StatusOK || !bytes.Contains(got.body, []byte(`"first"`)) {
		t.Errorf("the workspaces over TCP are %d: %s", got.status, got.body)
	}
	if got := ask(t, address, "wrong", "/api/v1/workspaces"); got.status != http.StatusUnauthorized {
		t.Errorf("a wrong token over TCP is answered with %d", got.status)
	}

	end()
	address, _, _ = w.serve()
	if after := w.only("first"); after.ID != before.ID || after.PID != before.PID || after.State != "running" {
		t.Errorf("after the restart the session is %+v, and was %+v", after, before)
	}
	if got := ask(t, address, secret, "/api/v1/workspaces"); got.status != http.StatusOK || !bytes.Contains(got.body, []byte(`"first"`)) {
		t.Errorf("after the restart the workspaces are %d: %s", got.status, got.body)
	}
	w.run(0, "send", "first", "--enter", "two")
	w.run(0, "wait", "first", "--text", "<two>", "--scrollback", "--timeout", "60s")
	if text := w.run(0, "capture", "first"); !strings.Contains(text, "<one>") || !strings.Contains(text, "<two>") {
		t.Errorf("the screen is %q", text)
	}
	w.run(0, "send", "first", "--enter", "exit 7")
	w.run(7, "wait", "first", "--exit", "--timeout", "60s")
	if s := w.only("first"); s.State != "exited" || s.Exit == nil || s.Exit.Code != 7 {
		t.Errorf("the ended session is %+v", s)
	}
	if text := w.run(0, "logs", "first"); !strings.Contains(text, "<one>") || !strings.Contains(text, "<two>") {
		t.Errorf("the log is %q", text)
	}
	w.run(0, "rm", "first", "--discard-work")
	if left, err := filepath.Glob(filepath.Join(w.home, "data", "workspaces", "*")); err != nil || len(left) > 0 {
		t.Errorf("rm left %q, %v", left, err)
	}
}

type answer struct {
	status int
	body   []byte
}

func ask(t *testing.T, address, secret, path string) answer {
	t.Helper()
	return call(t, address, secret, http.MethodGet, path, nil)
}

// call sends a request with that body as JSON, unless it is nil.
func call(t *testing.T, address, secret, method, path string, body any) answer {
	t.Helper()
	var content bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&content).Encode(body); err != nil {
			t.Fatal(err)
		}
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, &content)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+secret)
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	got, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{response.StatusCode, got}
}

// A directory of the user's own is a workspace without git, and rm leaves it.
func TestDirectoryInPlace(t *testing.T) {
	w := newWorld(t)
	w.serve()
	dir := filepath.Join(t.TempDir(), "my work")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(dir, "kept.txt")
	if err := os.WriteFile(kept, []byte("one\r\ntwo\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.run(0, "new", "mine", "-d", "-C", dir, "--mode", "in-place", "--no-session")
	if path := strings.TrimSpace(w.run(0, "path", "mine")); !strings.EqualFold(path, dir) {
		t.Errorf("its path is %q, not %q", path, dir)
	}
	w.run(0, "rm", "mine")
	if text, err := os.ReadFile(kept); err != nil || string(text) != "one\r\ntwo\r\n" {
		t.Errorf("rm left %q, %v", text, err)
	}
}

// attach on a console: keys go to the session, its screen is drawn, and the detach
// key leaves it running. The console is that of another session.
func TestAttachOnAConsole(t *testing.T) {
	w := newWorld(t)
	w.serve()
	w.run(0, "new", "inner", "-d", "--mode", "directory", "--", self(t), "program", "echo")
	w.run(0, "wait", "inner", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "new", "outer", "-d", "--mode", "directory", "--",
		self(t), "program", "on", w.home, w.command().Path, "attach", "inner")
	w.run(0, "wait", "outer", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "send", "outer", "--enter", "typed")
	w.run(0, "wait", "inner", "--text", "<typed>", "--scrollback", "--timeout", "60s")
	w.run(0, "wait", "outer", "--text", "<typed>", "--scrollback", "--timeout", "60s")
	w.run(0, "send", "outer", "--keys", `C-\`)
	w.run(0, "wait", "outer", "--text", "left with 0", "--scrollback", "--timeout", "60s")
	if s := w.only("inner"); s.State != "running" {
		t.Errorf("after the detach key the session is %+v", s)
	}
	w.run(0, "stop", "inner", "--grace", "0s")
}

// While a console shows a session, ctrl-C is a key of the session, and ends neither
// attach nor the program that reads it.
func TestControlCIsTyped(t *testing.T) {
	testenv.NotUnderWine(t, "its pseudo consoles make an event of ctrl-C in every mode")
	w := newWorld(t)
	w.serve()
	w.run(0, "new", "inner", "-d", "--mode", "directory", "--", self(t), "program", "keys")
	w.run(0, "wait", "inner", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "new", "outer", "-d", "--mode", "directory", "--",
		self(t), "program", "on", w.home, w.command().Path, "attach", "inner")
	w.run(0, "wait", "outer", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "send", "outer", "--keys", "C-c")
	w.run(0, "wait", "outer", "--text", "key 3.", "--scrollback", "--timeout", "60s")
	w.run(0, "send", "outer", "q")
	w.run(0, "wait", "inner", "--exit", "--timeout", "60s")
	w.run(0, "wait", "outer", "--exit", "--timeout", "60s")
}

// A console that becomes smaller, while attach reads its keys, makes the session
// smaller.
func TestConsoleIsResized(t *testing.T) {
	w := newWorld(t)
	w.serve()
	trigger := filepath.Join(t.TempDir(), "trigger")
	w.run(0, "new", "inner", "-d", "--mode", "directory", "--", self(t), "program", "echo")
	w.run(0, "wait", "inner", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "new", "outer", "-d", "--mode", "directory", "--",
		self(t), "program", "resized", trigger, w.home, w.command().Path, "attach", "inner")
	w.run(0, "wait", "outer", "--text", "ready", "--scrollback", "--timeout", "60s")
	before := w.only("inner").Size
	if before.Cols == smaller.X && before.Rows == smaller.Y {
		t.Fatalf("the session has %+v before the console is made smaller", before)
	}
	if err := os.WriteFile(trigger, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	size := before
	for deadline := time.Now().Add(patience); size == before && time.Now().Before(deadline); size = w.only("inner").Size {
	}
	if size.Cols != smaller.X || size.Rows != smaller.Y {
		t.Errorf("the session has %+v, want the console's %+v; its screen: %s", size, smaller, w.run(0, "capture", "outer"))
	}
	w.run(0, "stop", "inner", "--grace", "0s")
}

// Everything works below a path that is longer than the 260 characters that
// Windows once allowed.
func TestLongPaths(t *testing.T) {
	w := newWorld(t)
	w.home = filepath.Join(w.home, strings.Repeat("a", 120), strings.Repeat("b", 120))
	w.env = environ(w.home)
	if err := os.MkdirAll(w.home, 0o700); err != nil {
		t.Fatal(err)
	}
	w.serve()
	dir := t.TempDir()
	w.run(0, "new", "mine", "-d", "-C", dir, "--mode", "in-place", "--", self(t), "program", "echo")
	w.run(0, "wait", "mine", "--text", "ready", "--scrollback", "--timeout", "60s")
	w.run(0, "send", "mine", "--enter", "exit 7")
	w.run(7, "wait", "mine", "--exit", "--timeout", "60s")
	w.run(0, "rm", "mine")

	w.run(0, "new", "deep", "-d", "--mode", "directory", "--no-session")
	path := strings.TrimSpace(w.run(0, "path", "deep"))
	if len(path) < 260 {
		t.Fatalf("%s is not long", path)
	}
	if err := os.WriteFile(filepath.Join(path, "file"), []byte("text"), 0o600); err != nil {
		t.Error(err)
	}
	w.run(0, "rm", "deep", "--discard-work")
	if _, err := os.Lstat(path); err == nil {
		t.Errorf("%s is still there", path)
	}
}

// The completions of PowerShell are what cobra makes, for the name of the program.
func TestPowerShellCompletion(t *testing.T) {
	w := newWorld(t)
	if text := w.run(0, "completion", "powershell"); !strings.Contains(text, "Register-ArgumentCompleter -CommandName 'middleman'") {
		t.Errorf("the script does not register itself:\n%.500s", text)
	}
	var v struct{ Version, OS string }
	if err := json.Unmarshal([]byte(w.run(0, "version", "--json")), &v); err != nil || v.OS != "windows" {
		t.Errorf("version says %+v, %v", v, err)
	}
}
