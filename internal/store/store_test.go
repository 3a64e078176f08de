package store

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/names"
	"middleman/terminal"
	"middleman/workspace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	ctx = context.Background()
	t0  = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.UTC)
)

func open(t testing.TB) *Store {
	t.Helper()
	return openAt(t, filepath.Join(t.TempDir(), "data", "middleman.db"))
}

func openAt(t testing.TB, path string) *Store {
	t.Helper()
	s, err := Open(ctx, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantErr(t testing.TB, got, want error) {
	t.Helper()
	if !errors.Is(got, want) {
		t.Errorf("error %v, want %v", got, want)
	}
}

func newWorkspace(n int) workspace.Workspace {
	return workspace.Workspace{
		ID: fmt.Sprintf("w%d", n), Name: fmt.Sprintf("name-%d", n), Mode: workspace.ModeWorktree,
		Root: "/r", Subdir: "sub", Repository: "/repo", GitDir: "/repo/.git", Branch: "b", Base: "main",
		BaseCommit: "abc", State: workspace.StateCreating, CreatedAt: t0,
		Parent: "w0", ParentSession: "s0", Port: 30000, Ports: 10, ConfigHash: "h", Ephemeral: true, OwnBranch: true,
	}
}

func newSession(n int, workspaceID string) Session {
	return Session{
		ID: fmt.Sprintf("s%d", n), WorkspaceID: workspaceID, Name: fmt.Sprintf("shell-%d", n), Backend: "pty-owner",
		Argv: []string{"/bin/sh", "-c", "echo \"x\""}, Dir: "/r/sub", State: terminal.StateStarting, CreatedAt: t0, Parent: "s0",
	}
}

func TestRenameSession(t *testing.T) {
	s := open(t)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	must(t, s.CreateSession(ctx, newSession(1, "w1")))
	must(t, s.CreateSession(ctx, newSession(2, "w1")))
	must(t, s.RenameSession(ctx, "s1", "editor"))
	if got, err := s.Session(ctx, "s1"); err != nil || got.Name != "editor" {
		t.Errorf("%+v, %v", got, err)
	}
	wantErr(t, s.RenameSession(ctx, "s2", "editor"), ErrNameTaken)
	wantErr(t, s.RenameSession(ctx, "none", "x"), ErrNotFound)
}

func TestWorkspaces(t *testing.T) {
	s := open(t)
	w := newWorkspace(1)
	must(t, s.CreateWorkspace(ctx, w))
	got, err := s.Workspace(ctx, w.ID)
	if err != nil || got != w {
		t.Errorf("got %+v, %v, want %+v", got, err, w)
	}
	same := newWorkspace(2)
	same.Name = w.Name
	wantErr(t, s.CreateWorkspace(ctx, same), ErrNameTaken)

	w.Branch, w.State, w.CreatedAt = "other", workspace.StateReady, t0.Add(time.Hour)
	must(t, s.UpdateWorkspace(ctx, w))
	must(t, s.SetWorkspaceState(ctx, w.ID, workspace.StateFailed, "no space"))
	w.State, w.Error = workspace.StateFailed, "no space"
	if got, err := s.Workspace(ctx, w.ID); err != nil || got != w {
		t.Errorf("got %+v, %v, want %+v", got, err, w)
	}

	must(t, s.CreateWorkspace(ctx, newWorkspace(3)))
	third := newWorkspace(3)
	third.Name = w.Name
	wantErr(t, s.UpdateWorkspace(ctx, third), ErrNameTaken)

	must(t, s.DeleteWorkspace(ctx, w.ID))
	must(t, s.CreateWorkspace(ctx, same)) // the name is free again
	wantErr(t, s.DeleteWorkspace(ctx, w.ID), ErrNotFound)
	wantErr(t, s.UpdateWorkspace(ctx, w), ErrNotFound)
	wantErr(t, s.SetWorkspaceState(ctx, w.ID, workspace.StateReady, ""), ErrNotFound)
	_, err = s.Workspace(ctx, w.ID)
	wantErr(t, err, ErrNotFound)
}

// A name is unique in its repository, which is known before the workspace's own
// git directory is.
func TestNames(t *testing.T) {
	s := open(t)
	making := newWorkspace(1)
	making.Name, making.Root, making.GitDir = "fix", "", ""
	must(t, s.BeginCreation(ctx, making, "/repo/.git", []byte("{}")))
	second := newWorkspace(2)
	second.Name = "fix"
	wantErr(t, s.CreateWorkspace(ctx, second), ErrNameTaken)
	second.Repository, second.GitDir = "/other", "/other/.git"
	must(t, s.CreateWorkspace(ctx, second))
	must(t, s.UpdateWorkspace(ctx, making)) // its git directory is still unknown
	third := newWorkspace(3)
	third.Name = "fix"
	wantErr(t, s.CreateWorkspace(ctx, third), ErrNameTaken)

	second.GitDir = "/repo/.git" // the repository was moved to where another one was
	wantErr(t, s.UpdateWorkspace(ctx, second), ErrNameTaken)
	second.GitDir = "/other/.git"
	must(t, s.KeepDeleted(ctx, Deleted{second, t0}, nil))
	must(t, s.ReviveDeleted(ctx, second.ID, "fix"))

	want := []names.Workspace{{ID: "w1", Name: "fix", Repository: "/repo"}, {ID: "w2", Name: "fix", Repository: "/other"}}
	if got, err := s.Names(ctx); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := s.DeletedNames(ctx); err != nil || len(got) != 0 {
		t.Errorf("deleted %+v, %v", got, err)
	}
}

func TestStages(t *testing.T) {
	s := open(t)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	want := []workspace.Stage{
		{Name: "add", State: "running", Time: t0},
		{Name: "add", State: "done", Detail: "worktree", Time: t0}, // in order although of one time
		{Name: "ready", State: "done", Time: t0.Add(time.Second)},
	}
	for _, stage := range want {
		must(t, s.AddStage(ctx, "w1", stage))
	}
	got, err := s.Stages(ctx, "w1")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	wantErr(t, s.AddStage(ctx, "w9", want[0]), ErrNotFound)
	must(t, s.DeleteWorkspace(ctx, "w1"))
	if got, err := s.Stages(ctx, "w1"); err != nil || got != nil {
		t.Errorf("stages of a deleted workspace: %+v, %v", got, err)
	}
}

func TestSessions(t *testing.T) {
	s := open(t)
	must(t, s.CreateWorkspace(ctx, newWorkspace(1)))
	must(t, s.CreateWorkspace(ctx, newWorkspace(2)))
	x := newSession(1, "w1")
	must(t, s.CreateSession(ctx, x))
	if got, err := s.Session(ctx, "s1"); err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("got %+v, %v, want %+v", got, err, x)
	}
	same := newSession(2, "w1")
	same.Name = x.Name
	wantErr(t, s.CreateSession(ctx, same), ErrNameTaken)
	same.WorkspaceID = "w2"
	must(t, s.CreateSession(ctx, same))
	wantErr(t, s.CreateSession(ctx, newSession(3, "w9")), ErrNotFound)

	must(t, s.SetSessionState(ctx, "s1", terminal.StateRunning, ""))
	exit := terminal.Exit{Code: -1, Signal: 9, SignalName: "SIGKILL", Offset: 1 << 60, Time: t0, Size: terminal.DefaultSize, Title: "t"}
	must(t, s.SetSessionExit(ctx, "s1", exit))
	must(t, s.SetSessionState(ctx, "s1", terminal.StateStopping, "late")) // an exit is a fact
	x.State, x.Exit = terminal.StateExited, &exit
	if got, err := s.Session(ctx, "s1"); err != nil || !reflect.DeepEqual(got, x) {
		t.Errorf("got %+v, %v, want %+v", got, err, x)
	}
	whole := newSession(4, "w1")
	whole.State, whole.Exit = terminal.StateExited, &exit
	must(t, s.CreateSession(ctx, whole))
	list, next, err := s.Sessions(ctx, "w1", Page{})
	if err != nil || next != "" || !reflect.DeepEqual(list, []Session{x, whole}) {
		t.Errorf("sessions of w1: %+v, %q, %v", list, next, err)
	}
	if list, _, err := s.Sessions(ctx, "", Page{Limit: -1}); err != nil || len(list) != 3 {
		t.Errorf("all sessions: %+v, %v", list, err)
	}

	must(t, s.DeleteSession(ctx, "s4"))
	for _, err := range []error{
		s.DeleteSession(ctx, "s4"), s.SetSessionExit(ctx, "s4", exit), s.SetSessionState(ctx, "s4", terminal.StateLost, ""),
	} {
		wantErr(t, err, ErrNotFound)
	}
	must(t, s.DeleteWorkspace(ctx, "w1"))
	_, err = s.Session(ctx, "s1")
	wantErr(t, err, ErrNotFound)
}

func TestPages(t *testing.T) {
	s := open(t)
	const n = 23
	for i := range n {
		w := newWorkspace(100 + i)
		w.CreatedAt = t0.Add(time.Duration(i/5) * time.Second) // several of one time
		must(t, s.CreateWorkspace(ctx, w))
	}
	var ids []string
	p := Page{Limit: 4}
	for pages := 1; ; pages++ {
		list, next, err := s.Workspaces(ctx, p)
		must(t, err)
		for _, w := range list {
			ids = append(ids, w.ID)
		}
		if pages == 2 { // rows that go do not move the cursor
			must(t, s.DeleteWorkspace(ctx, "w101"))
			must(t, s.DeleteWorkspace(ctx, list[len(list)-1].ID))
		}
		if next == "" {
			break
		}
		p.Cursor = next
	}
	for i, id := range ids {
		if want := fmt.Sprintf("w%d", 100+i); id != want {
			t.Fatalf("row %d is %s, want %s, of %v", i, id, want, ids)
		}
	}
	if len(ids) != n {
		t.Errorf("%d rows, want %d", len(ids), n)
	}
	if _, next, err := s.Workspaces(ctx, Page{Limit: n - 2}); err != nil || next != "" {
		t.Errorf("a page with all rows has next %q, %v", next, err)
	}
	for _, bad := range []string{"!", "MTIz", "eCB5"} {
		_, _, err := s.Workspaces(ctx, Page{Cursor: bad})
		wantErr(t, err, ErrBadCursor)
		_, _, err = s.Sessions(ctx, "", Page{Cursor: bad})
		wantErr(t, err, ErrBadCursor)
	}
}

func TestTokens(t *testing.T) {
	s := open(t)
	secret := NewSecret()
	token := Token{ID: "t1", Label: "ci", Scope: ScopeRead, CreatedAt: t0, ExpiresAt: t0.Add(time.Hour)}
	must(t, s.CreateToken(ctx, secret, token))
	must(t, s.CreateToken(ctx, NewSecret(), Token{ID: "t2", Label: "watch", Scope: ScopeSession, SessionID: "s1", CreatedAt: t0.Add(1)}))

	used, err := s.UseToken(ctx, secret, t0.Add(time.Minute))
	token.LastUsedAt = t0.Add(time.Minute)
	if err != nil || used != token {
		t.Errorf("got %+v, %v, want %+v", used, err, token)
	}
	used, err = s.UseToken(ctx, secret, t0.Add(time.Minute+time.Second)) // too soon to be noted
	if err != nil || used != token {
		t.Errorf("got %+v, %v, want %+v", used, err, token)
	}
	if list, err := s.Tokens(ctx); err != nil || len(list) != 2 || list[0] != token || !list[1].LastUsedAt.IsZero() || !list[1].ExpiresAt.IsZero() {
		t.Errorf("tokens %+v, %v", list, err)
	}
	_, err = s.UseToken(ctx, secret, t0.Add(time.Hour))
	wantErr(t, err, ErrNotFound)
	_, err = s.UseToken(ctx, NewSecret(), t0)
	wantErr(t, err, ErrNotFound)
	_, err = s.DeleteToken(ctx, "t1")
	must(t, err)
	_, err = s.UseToken(ctx, secret, t0)
	wantErr(t, err, ErrNotFound)
	_, err = s.DeleteToken(ctx, "t1")
	wantErr(t, err, ErrNotFound)
}

func TestLoginLinkIsTakenOnce(t *testing.T) {
	s := open(t)
	secret := NewSecret()
	must(t, s.CreateLoginLink(ctx, secret, t0, t0.Add(time.Minute)))
	wantErr(t, s.UseLoginLink(ctx, NewSecret(), t0), ErrNotFound)
	wantErr(t, s.UseLoginLink(ctx, secret, t0.Add(time.Minute)), ErrNotFound)
	var taken atomic.Int32
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			err := s.UseLoginLink(ctx, secret, t0)
			if err == nil {
				taken.Add(1)
			} else if !errors.Is(err, ErrNotFound) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if taken.Load() != 1 {
		t.Errorf("taken %d times", taken.Load())
	}
}

func TestLogins(t *testing.T) {
	s := open(t)
	want := Login{
		ID: "l1", Key: []byte("public"), Name: "Chromium", UserAgent: "Mozilla", Address: "127.0.0.1", Origin: "http://127.0.0.1:1", Port: 1,
		CreatedAt: t0, LastUsedAt: t0, IdleAt: t0.Add(time.Hour), ExpiresAt: t0.Add(3 * time.Hour),
	}
	same := func(got Login) bool { return fmt.Sprint(got) == fmt.Sprint(want) }
	must(t, s.CreateLogin(ctx, want))
	if got, err := s.Login(ctx, "l1", t0); err != nil || !same(got) {
		t.Errorf("got %+v, %v", got, err)
	}
	look := func(at time.Time, want error) {
		t.Helper()
		_, err := s.Login(ctx, "l1", at)
		wantErr(t, err, want)
		if list, err := s.Logins(ctx, at); err != nil || len(list) == 1 != (want == nil) {
			t.Errorf("at %v: %+v, %v", at, list, err)
		}
	}
	look(t0.Add(time.Hour), ErrNotFound) // idle
	wantErr(t, s.UseLogin(ctx, "l1", t0.Add(time.Hour), t0.Add(9*time.Hour)), ErrNotFound)
	must(t, s.UseLogin(ctx, "l1", t0.Add(time.Minute), t0.Add(9*time.Hour)))
	look(t0.Add(2*time.Hour), nil)
	look(t0.Add(3*time.Hour), ErrNotFound) // expired
	must(t, s.DeleteLogin(ctx, "l1"))
	look(t0, ErrNotFound)
	wantErr(t, s.DeleteLogin(ctx, "l1"), ErrNotFound)
}

func TestKeysAreMadeOnce(t *testing.T) {
	s := open(t)
	n := 0
	generate := func() ([]byte, error) { n++; return []byte{byte(n)}, nil }
	for name, want := range map[string]string{ServerKey: "\x01", PushKey: "\x02"} {
		n = int(want[0]) - 1
		for range 2 {
			if key, err := s.Key(ctx, name, generate); err != nil || string(key) != want {
				t.Errorf("key %s is %x, %v", name, key, err)
			}
		}
	}
}

func TestSecretsAreNotInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	secret := NewSecret()
	must(t, s.CreateToken(ctx, secret, Token{ID: "t1", CreatedAt: t0}))
	must(t, s.CreateLoginLink(ctx, secret, t0, t0))
	for _, name := range []string{path, path + "-wal"} {
		data, err := os.ReadFile(name)
		must(t, err)
		if strings.Contains(string(data), secret) {
			t.Errorf("%s holds the secret", name)
		}
	}
	must(t, s.Close())
}

func TestRequests(t *testing.T) {
	path := filepath.Join(t.TempDir(), "middleman.db")
	s, err := Open(ctx, path)
	must(t, err)
	r := Request{Key: "k", Route: "POST /workspaces", Hash: []byte("h")}
	other := r
	other.Hash = []byte("other")
	begin := func(r Request, at time.Time, want *Answer, wantError error) {
		t.Helper()
		got, err := s.BeginRequest(ctx, r, at)
		if !errors.Is(err, wantError) || !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v, %v, want %+v, %v", got, err, want, wantError)
		}
	}
	begin(r, t0, nil, nil)
	begin(r, t0, nil, ErrKeyBusy)
	begin(other, t0, nil, ErrKeyReused)
	begin(Request{Key: "k", Route: "POST /other", Hash: []byte("h")}, t0, nil, nil) // keys are by route
	must(t, s.AbandonRequest(ctx, r))
	begin(r, t0, nil, nil)
	answer := Answer{Status: 202, Body: []byte("{}")}
	must(t, s.FinishRequest(ctx, r, answer))
	wantErr(t, s.FinishRequest(ctx, r, answer), ErrNotFound)
	begin(r, t0.Add(keyLife-1), &answer, nil)
	begin(other, t0, nil, ErrKeyReused)
	begin(other, t0.Add(keyLife), nil, nil) // a day later the key is free
	must(t, s.Close())

	// A claim dies with its server.
	s = openAt(t, path)
	begin(r, t0.Add(keyLife), nil, nil)
}

func TestExpire(t *testing.T) {
	s := open(t)
	soon, late := t0.Add(time.Minute), t0.Add(48*time.Hour)
	for i, expires := range []time.Time{soon, late, {}} {
		must(t, s.CreateToken(ctx, fmt.Sprint("token", i), Token{ID: fmt.Sprint("t", i), CreatedAt: t0, ExpiresAt: expires}))
	}
	for _, expires := range []time.Time{soon, late} {
		must(t, s.CreateLoginLink(ctx, fmt.Sprint(expires), t0, expires))
		must(t, s.CreateLogin(ctx, Login{ID: fmt.Sprint(expires), Key: []byte("k"), CreatedAt: t0, IdleAt: late, ExpiresAt: expires}))
		must(t, s.CreateLogin(ctx, Login{ID: fmt.Sprint("idle ", expires), Key: []byte("k"), CreatedAt: t0, IdleAt: expires, ExpiresAt: late}))
	}
	r := Request{Key: "k", Route: "r", Hash: []byte("h")}
	_, err := s.BeginRequest(ctx, r, t0)
	must(t, err)
	must(t, s.FinishRequest(ctx, r, Answer{Status: 200}))
	counts := func() string {
		var all []string
		for _, table := range []string{"tokens", "login_links", "logins", "idempotency_keys"} {
			var n int
			must(t, s.read.QueryRow(`SELECT count(*) FROM `+table).Scan(&n))
			all = append(all, fmt.Sprint(n))
		}
		return strings.Join(all, " ")
	}
	must(t, s.Expire(ctx, t0))
	if got := counts(); got != "3 2 4 1" {
		t.Errorf("nothing is due, left %s", got)
	}
	must(t, s.Expire(ctx, t0.Add(keyLife)))
	if got := counts(); got != "2 1 2 0" {
		t.Errorf("left %s", got)
	}
}

func TestConcurrentWritersAndReaders(t *testing.T) {
	s := open(t)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 25 {
				w := newWorkspace(i*1000 + n)
				if err := s.CreateWorkspace(ctx, w); err != nil {
					t.Error(err)
				}
				if _, err := s.Workspace(ctx, w.ID); err != nil { // what is written is read at once
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if list, _, err := s.Workspaces(ctx, Page{Limit: -1}); err != nil || len(list) != 200 {
		t.Errorf("%d rows, %v", len(list), err)
	}
}

// A login has one subscription, which ends with it; a browser, by its endpoint, too.
func TestSubscriptions(t *testing.T) {
	s := open(t)
	for _, id := range []string{"l1", "l2", "l3"} {
		must(t, s.CreateLogin(ctx, Login{ID: id, Key: []byte("k"), CreatedAt: t0, IdleAt: t0.Add(time.Hour), ExpiresAt: t0.Add(time.Hour)}))
	}
	set := func(login, endpoint string, content bool) {
		t.Helper()
		must(t, s.SetSubscription(ctx, Subscription{Login: login, Endpoint: endpoint, Key: []byte("k"), Auth: []byte("a"), Content: content, CreatedAt: t0}))
	}
	list := func(at time.Time) (got string) {
		t.Helper()
		all, err := s.Subscriptions(ctx, at)
		must(t, err)
		for _, v := range all {
			got += fmt.Sprint(v.Login, " ", v.Endpoint, " ", v.Content, "; ")
		}
		return got
	}
	check := func(at time.Time, want string) {
		t.Helper()
		if got := list(at); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	set("l1", "a", false)
	set("l2", "b", false)
	set("l1", "c", true)
	check(t0, "l1 c true; l2 b false; ")
	set("l3", "b", false) // the same browser, which has logged in again
	check(t0, "l1 c true; l3 b false; ")
	wantErr(t, s.DeleteSubscription(ctx, "l1", "a"), ErrNotFound)
	must(t, s.DeleteSubscription(ctx, "l1", "c"))
	set("l1", "d", false)
	must(t, s.DeleteLogin(ctx, "l3"))
	check(t0, "l1 d false; ")
	check(t0.Add(time.Hour), "") // the login has expired
	_, err := s.DeleteLogins(ctx)
	must(t, err)
	_, err = s.Subscription(ctx, "l1")
	wantErr(t, err, ErrNotFound)
	if err := s.SetSubscription(ctx, Subscription{Login: "l1", Endpoint: "e", CreatedAt: t0}); err == nil {
		t.Error("a login that is gone has a subscription")
	}
}
