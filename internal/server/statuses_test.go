//go:build linux || darwin

package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/server"
	"middleman/workspace"
)

// watched counts the looks, and can hold them.
type watched struct {
	app.Workspaces
	looks atomic.Int64
	hold  chan struct{} // nil holds none
	fail  atomic.Bool
}

func (w *watched) Status(ctx context.Context, of workspace.Workspace) (workspace.Status, error) {
	w.looks.Add(1)
	if w.hold != nil {
		select {
		case <-w.hold:
		case <-ctx.Done():
			return workspace.Status{}, ctx.Err()
		}
	}
	if w.fail.Load() {
		return workspace.Status{}, errors.New("the disk is on fire")
	}
	return w.Workspaces.Status(ctx, of)
}

// serveWatched is a server whose looks a test sees. If it can hold them, a list
// waits for them no longer than for a user.
func (p *place) serveWatched(t *testing.T, hold chan struct{}) (*running, *watched) {
	w := &watched{hold: hold}
	r := p.serve(t, func(o *server.Options) {
		w.Workspaces = o.Workspaces
		o.Workspaces = w
		if hold != nil {
			o.StatusWait = 0
		}
	})
	return r, w
}

// listed is the status of the one workspace there is, as a list tells it.
func (r *running) listed(query string) *workspace.Status {
	r.t.Helper()
	list := get[api.Workspaces](r, "GET", "/workspaces?"+query, nil)
	if len(list.Workspaces) != 1 {
		r.t.Fatalf("%d workspaces", len(list.Workspaces))
	}
	return list.Workspaces[0].Status
}

func TestStatusInLists(t *testing.T) {
	p := newPlace(t)
	r, inspector := p.serveWatched(t, nil)
	w := r.workspace("w", nil)
	if s := r.listed(""); s != nil || inspector.looks.Load() != 0 {
		t.Errorf("not asked for: %+v, %d looks", s, inspector.looks.Load())
	}
	first := r.listed("status=1")
	if first == nil || first.Files == nil || !first.Files.Clean() || first.Base == nil || first.Source != "git" || first.AsOf.IsZero() {
		t.Fatalf("first: %+v", first)
	}
	if s := r.listed("status=1"); s.Source != "memory" && s.Source != "events" || !s.AsOf.Equal(first.AsOf) || inspector.looks.Load() != 1 {
		t.Errorf("second: %+v, %d looks", s, inspector.looks.Load())
	}
	// What a mark shows is looked at before the answer.
	write(t, filepath.Join(w.Root, "new"), "1")
	if s := r.listed("status=1"); s.Files == nil || s.Files.Untracked != 1 || s.Outdated {
		t.Errorf("after a new file: %+v", s)
	}
	// A fresh look is one for this answer.
	write(t, filepath.Join(w.Root, "file"), "changed\n")
	if s := r.listed("status=1&fresh=1"); s.Files == nil || s.Files.Changed != 1 || s.Source != "git" {
		t.Errorf("fresh: %+v", s)
	}
	if s := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?status=1&fresh=1", nil).Status; s == nil || s.Files.Changed != 1 {
		t.Errorf("one: %+v", s)
	}
	// What cannot be found out is not zero.
	inspector.fail.Store(true)
	if s := r.listed("status=1&fresh=1"); s.Files != nil || len(s.Unknown) != 1 || s.Unknown[0] != "the disk is on fire" {
		t.Errorf("failing: %+v", s)
	}
}

// A list does not wait for a look that takes long, and says that it does not
// know; and a server that starts knows what the one before did.
func TestStatusIsNotWaitedFor(t *testing.T) {
	p := newPlace(t)
	hold := make(chan struct{})
	r, _ := p.serveWatched(t, hold)
	r.workspace("w", nil)
	if s := r.listed("status=1"); s == nil || s.Files != nil || len(s.Unknown) != 1 || !s.AsOf.IsZero() {
		t.Errorf("held: %+v", s)
	}
	close(hold)
	known := r.listed("status=1&fresh=1")
	r.stop()
	r, inspector := p.serveWatched(t, make(chan struct{})) // nobody gets to look
	if s := r.listed("status=1"); s == nil || s.Files == nil || s.Source != "disk" || !s.AsOf.Equal(known.AsOf) || s.Outdated {
		t.Errorf("after a restart: %+v, want %+v", s, known)
	}
	write(t, filepath.Join(r.only().Root, "new"), "1")
	if s := r.listed("status=1"); s == nil || s.Files == nil || !s.Outdated || inspector.looks.Load() != 1 {
		t.Errorf("changed since: %+v, %d looks", s, inspector.looks.Load())
	}
	r.stop()
	// A damaged file is nothing but a cache that is gone.
	write(t, p.dirs.Statuses(), "{")
	r = p.serve(t)
	if s := r.listed("status=1"); s == nil || s.Files == nil || s.Files.Untracked != 1 {
		t.Errorf("after damage: %+v", s)
	}
}

// only is the one workspace there is.
func (r *running) only() api.Workspace {
	return get[api.Workspaces](r, "GET", "/workspaces", nil).Workspaces[0]
}

// Directories have no status, and what is deleted is forgotten.
func TestStatusOfNone(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	created := get[api.Created](r, "POST", "/workspaces", api.NewWorkspace{Name: "d", Mode: workspace.ModeDirectory})
	get[api.Workspace](r, "GET", "/workspaces/"+created.Workspace.ID+"?wait=60s", nil)
	if s := r.listed("status=1&fresh=1"); s != nil {
		t.Errorf("directory: %+v", s)
	}
	get[api.Deleted](r, "DELETE", "/workspaces/"+created.Workspace.ID, nil)
	w := r.workspace("w", nil)
	r.listed("status=1")
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	r.stop()
	if known, err := app.ReadStatuses(p.dirs.Statuses()); err != nil || len(known) != 0 {
		t.Errorf("kept %v, %v", known, err)
	}
}

// 200 worktrees of four repositories: how long a list with status takes with
// nothing known, with what the server before knew, and warm. The bars are
// generous, for a machine that others use too; scripts/bench has the real ones.
func TestStatusOfMany(t *testing.T) {
	many := 40
	if os.Getenv("MIDDLEMAN_LONG") != "" {
		many = 200
	}
	p := newPlace(t)
	asForAUser := func(o *server.Options) { o.StatusWait = 0 }
	r := p.serve(t, asForAUser)
	crowd(t, r, many)
	ask := func(what string, bar time.Duration, known bool) (quick bool) {
		t.Helper()
		began := time.Now()
		list := get[api.Workspaces](r, "GET", "/workspaces?status=1&limit=500", nil).Workspaces
		took := time.Since(began)
		unknown := 0
		for _, w := range list {
			if w.Status == nil || w.Status.Files == nil {
				unknown++
			}
		}
		t.Logf("%s: %d workspaces in %v, %d not known", what, len(list), took, unknown)
		if len(list) != many || known && unknown > 0 {
			t.Errorf("%s: %d workspaces, %d not known; want %d", what, len(list), unknown, many)
		}
		return took <= bar
	}
	again := func() {
		r.stop()
		r = p.serve(t, asForAUser)
	}
	for _, x := range []struct {
		what  string
		bar   time.Duration
		known bool
		next  func() // makes it so again
	}{
		{"nothing known", 3 * time.Second, false, func() {
			r.stop()
			remove(t, p.dirs.Statuses())
			r = p.serve(t, asForAUser)
		}},
		{"warm", 500 * time.Millisecond, true, func() {}},
		{"cold", 3 * time.Second, true, again},
	} {
		switch x.what {
		case "warm":
			get[api.Workspaces](r, "GET", "/workspaces?status=1&fresh=1&limit=500", nil)
		case "cold":
			again()
		}
		quick := ask(x.what, x.bar, x.known)
		for try := 1; try < 3 && !quick; try++ { // a busy machine makes some of them slow
			x.next()
			quick = ask(x.what, x.bar, x.known)
		}
		if !quick {
			t.Errorf("%s: each list took more than %v", x.what, x.bar)
		}
	}
}

// crowd makes worktrees of four repositories, and their records.
func crowd(t *testing.T, r *running, many int) {
	t.Helper()
	for n := range 4 {
		repo := fmt.Sprintf("%s-%d", r.place.repository, n)
		git(t, filepath.Dir(repo), "clone", "-q", r.place.repository, repo)
		for i := n; i < many; i += 4 {
			id := fmt.Sprintf("wcrowd%d", i)
			root := filepath.Join(r.place.dirs.Workspaces(), id)
			git(t, repo, "worktree", "add", "-q", "-b", fmt.Sprintf("b/%d", i), root)
			w := workspace.Workspace{
				ID: id, Name: fmt.Sprintf("w%d", i), Mode: workspace.ModeWorktree, Root: root, Repository: repo,
				GitDir: filepath.Join(repo, ".git"), Branch: fmt.Sprintf("b/%d", i), Base: "main", State: workspace.StateReady, CreatedAt: time.Now(),
			}
			if err := r.store.CreateWorkspace(t.Context(), w); err != nil {
				t.Fatal(err)
			}
		}
	}
}
