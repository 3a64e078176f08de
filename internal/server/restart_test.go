//go:build linux || darwin

package server_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/listen"
	"middleman/internal/private"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

func TestRestartFindsSessions(t *testing.T) { eachBackend(t, restartFindsSessions) }

func restartFindsSessions(t *testing.T, p *place) {
	r := p.serve(t)
	w := r.workspace("durable", &api.NewSession{Command: []string{"cat"}})
	lives := w.Sessions[0]
	ends := r.session(w, "sh", "-c", "read line; exit 42")
	killed := r.session(w, "sh", "-c", "read line; kill -KILL $$")
	r.stop()

	// Programs end while no server is there.
	for _, s := range []api.Session{ends, killed} {
		if err := p.backend.Session(s.ID).Input(t.Context(), []byte("\n")); err != nil {
			t.Fatal(err)
		}
	}
	r = p.serve(t)
	for _, x := range []struct {
		id     string
		status int
	}{{ends.ID, 42}, {killed.ID, 128 + 9}} {
		got := get[api.Waited](r, "GET", "/sessions/"+x.id+"/wait?for=exit&timeout=60s", nil)
		if got.Session.Exit == nil || got.Session.Exit.Status() != x.status {
			t.Errorf("exit of %s: %+v", x.id, got.Session)
		}
	}
	again := get[api.Session](r, "GET", "/sessions/"+lives.ID, nil)
	if again.State != terminal.StateRunning || again.PID != lives.PID {
		t.Errorf("before %+v\nafter %+v", lives, again)
	}
	// The monitor is back: an exit is recorded though nobody asks for it.
	events := r.events(t, "", "")
	r.call("POST", "/sessions/"+lives.ID+"/input", []byte("\x04"))
	events.until(func(e api.Event) bool {
		return e.Session != nil && e.Session.ID == lives.ID && e.Session.State == terminal.StateExited && e.Session.Exit.Code == 0
	})
	row, err := r.store.Session(t.Context(), lives.ID)
	if err != nil || row.State != terminal.StateExited {
		t.Errorf("row: %+v, %v", row, err)
	}
}

// The rows say what was; the backend says what is.
func TestRestartSettlesWhatACrashLeft(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w := r.workspace("crashed", &api.NewSession{Command: []string{"cat"}})
	orphan := w.Sessions[0].ID
	now := time.Now().UTC()
	add := func(id, name string, state terminal.State) {
		t.Helper()
		err := r.store.CreateSession(t.Context(), store.Session{
			ID: id, WorkspaceID: w.ID, Name: name, Backend: "pty-owner", Argv: []string{"/bin/cat"}, Dir: w.Path, State: state, CreatedAt: now,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	starting, running := terminal.NewID("s"), terminal.NewID("s")
	add(starting, "starting", terminal.StateStarting)
	add(running, "running", terminal.StateRunning)
	half := workspace.Workspace{ID: terminal.NewID("w"), Name: "half", Mode: workspace.ModeWorktree, State: workspace.StateCreating, CreatedAt: now}
	gone := workspace.Workspace{ID: terminal.NewID("w"), Name: "deleting", Mode: workspace.ModeDirectory, State: workspace.StateDeleting, CreatedAt: now}
	for _, x := range []workspace.Workspace{half, gone} {
		if err := r.store.CreateWorkspace(t.Context(), x); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.store.DeleteSession(t.Context(), orphan); err != nil {
		t.Fatal(err)
	}
	r.stop()

	r = p.serve(t)
	for _, x := range []struct {
		id   string
		want terminal.State
	}{{starting, terminal.StateFailed}, {running, terminal.StateLost}, {orphan, terminal.StateRunning}} {
		r.until("session "+string(x.want), func() bool {
			row, err := r.store.Session(t.Context(), x.id)
			return err == nil && row.State == x.want
		})
	}
	for _, x := range []workspace.Workspace{half, gone} {
		got := get[api.Workspace](r, "GET", "/workspaces/"+x.ID, nil)
		if got.State != workspace.StateFailed || got.Error == "" {
			t.Errorf("%s: %+v", x.Name, got)
		}
		get[api.Deleted](r, "DELETE", "/workspaces/"+x.ID, nil)
	}
}

func TestOneServerOnOneDirectory(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	options := listen.Options{Dirs: p.dirs, Address: "127.0.0.1:0"}
	_, err := listen.Open(options)
	locked, ok := errors.AsType[*listen.LockedError](err)
	if !ok || locked.PID != os.Getpid() || !strings.Contains(err.Error(), strconv.Itoa(os.Getpid())) {
		t.Errorf("second server: %v", err)
	}
	serve, err := os.ReadFile(p.dirs.ServeFile())
	if err != nil {
		t.Fatal(err)
	}
	former := regexp.MustCompile(`"start":"[0-9]+"`).ReplaceAll(serve, []byte(`"start":"1"`))
	if err := private.Replace(p.dirs.ServeFile(), former, private.ThisBoot); err != nil || bytes.Equal(former, serve) {
		t.Fatalf("serve.json is %s, %v", serve, err)
	}
	_, err = listen.Open(options)
	if locked, ok := errors.AsType[*listen.LockedError](err); !ok || locked.PID != 0 {
		t.Errorf("second server, with the pid in serve.json that of another process by now: %v", err)
	}
	if err := private.Replace(p.dirs.ServeFile(), serve, private.ThisBoot); err != nil {
		t.Fatal(err)
	}
	if r.call("GET", "/health", nil).status != 200 {
		t.Error("the refused server took the first one's socket")
	}
	info, err := os.Stat(p.dirs.ServeFile())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("serve.json: %v, %v", info, err)
	}
	if info, err = os.Stat(p.dirs.ServerSocket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("socket: %v, %v", info, err)
	}
	taken := newPlace(t)
	if _, err := listen.Open(listen.Options{Dirs: taken.dirs, Address: r.at}); err == nil || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("port taken: %v", err)
	}
	r.stop()
	if _, err := os.Stat(p.dirs.ServeFile()); !os.IsNotExist(err) {
		t.Errorf("serve.json after the end: %v", err)
	}
	p.serve(t)
}

func TestListenRefuses(t *testing.T) {
	p := newPlace(t)
	for _, address := range []string{"0.0.0.0:0", ":0", "192.0.2.1:0", "example.com:0", "127.0.0.1", "[::]:0", "127.0.0.2:0"} {
		l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: address})
		if err == nil {
			t.Errorf("%s: listens", address)
			if err := l.Close(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := os.MkdirAll(p.dirs.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(p.dirs.Data, 0o777); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(p.dirs.Data, 0o700) // for the clean-up
	_, err := listen.Open(listen.Options{Dirs: p.dirs, Address: "127.0.0.1:0"})
	if err == nil || !strings.Contains(err.Error(), p.dirs.Data) {
		t.Errorf("directory that others can write: %v", err)
	}
	if _, err := os.Stat(filepath.Join(p.dirs.Data, "server.lock")); !os.IsNotExist(err) {
		t.Errorf("it was written to nevertheless: %v", err)
	}
}

// A server that was killed while it made a workspace left branch, directory
// and git's entry; the next one removes them.
func TestRestartUndoesACreation(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	made := r.workspace("killed", nil)
	row, err := r.store.Workspace(t.Context(), made.ID)
	if err != nil {
		t.Fatal(err)
	}
	root, gitDir := row.Root, row.GitDir
	row.Root, row.GitDir, row.Branch, row.BaseCommit, row.State = "", "", "", "", workspace.StateCreating
	if err := r.store.UpdateWorkspace(t.Context(), row); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(gitDir, "worktrees", row.ID, "index")); err != nil { // git writes it last
		t.Fatal(err)
	}
	r.stop()

	r = p.serve(t)
	got := get[api.Workspace](r, "GET", "/workspaces/"+row.ID, nil)
	if got.State != workspace.StateFailed || !strings.Contains(got.Error, "nothing of it is left") {
		t.Errorf("after the restart: %+v", got)
	}
	for _, left := range []string{root, filepath.Join(gitDir, "worktrees", row.ID), filepath.Join(gitDir, "refs/heads/middleman/killed")} {
		if _, err := os.Lstat(left); !os.IsNotExist(err) {
			t.Errorf("%s: %v", left, err)
		}
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+row.ID, nil)
	if again := r.workspace("killed", nil); again.Branch != "middleman/killed" {
		t.Errorf("branch %s", again.Branch)
	}
}
