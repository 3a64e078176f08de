package server_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/testenv"
	"middleman/workspace"
)

// fullDisk makes p's data directory a small file system of its own and
// returns what takes all the room that there is.
func fullDisk(t *testing.T, p *place) (fill func()) {
	t.Helper()
	if err := os.MkdirAll(p.dirs.Data, 0o700); err != nil {
		t.Fatal(err)
	}
	testenv.SmallDisk(t, p.dirs.Data, "4096")
	return func() {
		f, err := os.Create(filepath.Join(p.dirs.Data, "filler"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		if !errors.Is(err, syscall.ENOSPC) {
			t.Fatal(err)
		}
	}
}

func TestFullDiskIsNamed(t *testing.T) {
	p := newPlace(t)
	fill := fullDisk(t, p)
	r := p.serve(t)
	fill()
	for range 100 { // the first ones may still fit into what the database has
		a := r.call("POST", "/workspaces", api.NewWorkspace{Directory: p.repository})
		text := string(a.body)
		if a.status < 300 {
			var created api.Created
			if err := json.Unmarshal(a.body, &created); err != nil {
				t.Fatal(err)
			}
			w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
			if w.State != workspace.StateFailed {
				t.Fatalf("on a full disk the workspace is %s", w.State)
			}
			text = w.Error
		} else if p := a.problem(t); a.status != 507 || p.Code != "disk-full" {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
		if !strings.Contains(text, "no space left on device") {
			t.Fatalf("said: %s", text)
		}
		if a.status == 507 {
			return
		}
	}
	t.Error("the database never ran out of room")
}

// The log's path is for who could read it anyway.
func TestInternalErrorNamesTheLogToItsOwner(t *testing.T) {
	const log = "/data/of/ours/server.log"
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) { o.LogFile = log })
	login := r.login()
	if err := r.store.Close(); err != nil { // every question is an error now
		t.Fatal(err)
	}
	if a := r.call("GET", "/workspaces", nil); a.status != 500 || !strings.Contains(string(a.body), log) {
		t.Errorf("over the socket: %d %s", a.status, a.body)
	}
	if a := r.browse("GET", "/api/v1/workspaces", nil, "Authorization", login); a.status != 500 || strings.Contains(string(a.body), log) {
		t.Errorf("in a browser: %d %s", a.status, a.body)
	}
}

// A delete whose beginning cannot be recorded destroys nothing: its end could not be
// recorded either.
func TestFullDiskRefusesDelete(t *testing.T) {
	p := newPlace(t)
	fill := fullDisk(t, p)
	r := p.serve(t)
	w := r.workspace("w", nil)
	fill()
	fillStore(t, r, w.ID)
	a := r.call("DELETE", "/workspaces/"+w.ID+"?discard_work=1&stop_sessions=1", nil)
	if a.status != 507 || a.problem(t).Code != "disk-full" {
		t.Errorf("on a full disk: %d %s", a.status, a.body)
	}
	if _, err := os.Stat(w.Path); err != nil {
		t.Errorf("the refused delete has destroyed: %v", err)
	}
	if err := os.Remove(filepath.Join(p.dirs.Data, "filler")); err != nil {
		t.Fatal(err)
	}
	if now := get[api.Workspace](r, "GET", "/workspaces/"+w.ID, nil); now.State != workspace.StateReady {
		t.Errorf("with room again it is %s", now.State)
	}
	if a := r.call("DELETE", "/workspaces/"+w.ID+"?discard_work=1&stop_sessions=1", nil); a.status != 200 {
		t.Errorf("with room again: %d %s", a.status, a.body)
	}
}

// fillStore fills what the database has left, by renaming a workspace.
func fillStore(t *testing.T, r *running, id string) {
	t.Helper()
	for n := range 2000 {
		if a := r.call("POST", "/workspaces/"+id+"/rename", map[string]string{"name": fmt.Sprint("name-", n)}); a.status == 507 {
			return
		}
	}
	t.Fatal("the database never ran out of room")
}
