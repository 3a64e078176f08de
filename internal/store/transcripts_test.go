package store

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"middleman/terminal"
	"middleman/workspace"
)

// ended is a session that has exited, n seconds after the first.
func ended(id, workspaceID string, n int) Session {
	return Session{
		ID: id, WorkspaceID: workspaceID, Name: "n-" + id, Backend: "pty-owner", Argv: []string{"sh", "-c", "x"}, Dir: "/d",
		State: terminal.StateExited, Exit: &terminal.Exit{Code: 3, Offset: 9, Time: t0}, CreatedAt: t0.Add(time.Duration(n) * time.Second), Parent: "p",
	}
}

// keepTwo stores a workspace with three sessions and deletes it: two of them are
// transcripts then.
func keepTwo(t *testing.T, s *Store, from workspace.RestoreSource) workspace.Workspace {
	t.Helper()
	w := workspace.Workspace{ID: "w1", Name: "w", Mode: workspace.ModeWorktree, State: workspace.StateDeleting, CreatedAt: t0}
	must(t, s.CreateWorkspace(ctx, w))
	for i, id := range []string{"s1", "s2", "s3"} {
		must(t, s.CreateSession(ctx, ended(id, w.ID, i)))
	}
	w.RestoreFrom = from
	must(t, s.KeepDeleted(ctx, Deleted{w, t0.Add(time.Hour)}, map[string]int64{"s1": 10, "s3": 30, "other": 5}))
	return w
}

func TestTranscripts(t *testing.T) {
	s := open(t)
	w := keepTwo(t, s, workspace.FromTip)
	want := []Transcript{
		{ended("s1", "w1", 0), 10, "w", t0.Add(time.Hour)},
		{ended("s3", "w1", 2), 30, "w", t0.Add(time.Hour)},
	}
	for _, of := range []string{"", w.ID} {
		if list, next, err := s.Transcripts(ctx, of, Page{Limit: -1}); err != nil || next != "" || !reflect.DeepEqual(list, want) {
			t.Errorf("of %q: got %+v, %q, %v, want %+v", of, list, next, err, want)
		}
	}
	first, next, err := s.Transcripts(ctx, "", Page{Limit: 1})
	if err != nil || len(first) != 1 || next == "" {
		t.Fatalf("first page: %+v, %q, %v", first, next, err)
	}
	if rest, _, err := s.Transcripts(ctx, "", Page{Cursor: next}); err != nil || !reflect.DeepEqual(rest, want[1:]) {
		t.Errorf("second page: %+v, %v", rest, err)
	}
	if got, err := s.Transcript(ctx, "s3"); err != nil || !reflect.DeepEqual(got, want[1]) {
		t.Errorf("one: %+v, %v", got, err)
	}
	for _, id := range []string{"s1", "s2", "s3"} {
		if _, err := s.Session(ctx, id); !errors.Is(err, ErrNotFound) {
			t.Errorf("session %s is one of a workspace still: %v", id, err)
		}
	}

	must(t, s.ReviveDeleted(ctx, w.ID, "w"))
	back, _, err := s.Sessions(ctx, w.ID, Page{})
	if err != nil || !reflect.DeepEqual(back, []Session{want[0].Session, want[1].Session}) {
		t.Errorf("revived: %+v, %v", back, err)
	}
	if list, _, err := s.Transcripts(ctx, "", Page{}); err != nil || len(list) != 0 {
		t.Errorf("after that: %+v, %v", list, err)
	}
}

// The record of a deleted workspace goes with the last that is kept of it.
func TestForgetTranscripts(t *testing.T) {
	for _, tt := range []struct {
		from         workspace.RestoreSource
		left, forget bool // a record is left after the transcripts went; then the snapshot is forgotten
	}{
		{from: workspace.FromSnapshot, left: true, forget: true},
		{from: workspace.FromTip},
		{from: workspace.FromNothing},
	} {
		s := open(t)
		w := keepTwo(t, s, tt.from)
		must(t, s.ForgetTranscript(ctx, "s1"))
		if _, err := s.DeletedWorkspace(ctx, w.ID); err != nil {
			t.Errorf("%q: a transcript is kept, and no record: %v", tt.from, err)
		}
		must(t, s.ForgetTranscript(ctx, "s3"))
		if _, err := s.DeletedWorkspace(ctx, w.ID); (err == nil) != tt.left || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: the record: %v", tt.from, err)
		}
		wantErr(t, s.ForgetTranscript(ctx, "s3"), ErrNotFound)
		if tt.forget {
			must(t, s.ForgetDeleted(ctx, w.ID))
		}
		wantErr(t, s.ForgetDeleted(ctx, w.ID), ErrNotFound)
	}

	// A snapshot that is removed leaves the transcripts.
	s := open(t)
	w := keepTwo(t, s, workspace.FromSnapshot)
	must(t, s.ForgetDeleted(ctx, w.ID))
	if d, err := s.DeletedWorkspace(ctx, w.ID); err != nil || d.RestoreFrom != workspace.FromNothing {
		t.Errorf("without its snapshot: %+v, %v", d, err)
	}
	if list, _, err := s.Transcripts(ctx, w.ID, Page{}); err != nil || len(list) != 2 {
		t.Errorf("its transcripts: %+v, %v", list, err)
	}
}

func TestAddTranscript(t *testing.T) {
	s := open(t)
	w := keepTwo(t, s, workspace.FromSnapshot)
	x := ended("s9", w.ID, 9)
	must(t, s.AddTranscript(ctx, x, -5)) // no size of ours is negative
	if got, err := s.Transcript(ctx, "s9"); err != nil || got.Bytes != 0 || !reflect.DeepEqual(got.Session, x) {
		t.Errorf("added: %+v, %v", got, err)
	}
	x.ID = "s10"
	wantErr(t, s.AddTranscript(ctx, x, 1), ErrNameTaken)
	x.Name, x.WorkspaceID = "free", "none"
	wantErr(t, s.AddTranscript(ctx, x, 1), ErrNotFound)
}

// A token for one session ends when its workspace is deleted.
func TestTokensEndWithTheirWorkspace(t *testing.T) {
	s := open(t)
	w := workspace.Workspace{ID: "w1", Name: "w", State: workspace.StateReady, CreatedAt: t0}
	must(t, s.CreateWorkspace(ctx, w))
	must(t, s.CreateSession(ctx, ended("s1", w.ID, 0)))
	share, full := NewSecret(), NewSecret()
	must(t, s.CreateToken(ctx, share, Token{ID: "t1", Label: "share", Scope: ScopeSession, SessionID: "s1", CreatedAt: t0}))
	must(t, s.CreateToken(ctx, full, Token{ID: "t2", Label: "full", Scope: ScopeFull, CreatedAt: t0}))
	must(t, s.KeepDeleted(ctx, Deleted{w, t0}, map[string]int64{"s1": 1}))
	_, err := s.UseToken(ctx, share, t0)
	wantErr(t, err, ErrNotFound)
	_, err = s.UseToken(ctx, full, t0)
	must(t, err)
}
