package server_test

import (
	"encoding/json"
	"errors"
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
			w := get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=30s", nil)
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
