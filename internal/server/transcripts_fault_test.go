//go:build faults && (linux || darwin)

package server_test

import (
	"path/filepath"
	"testing"

	"middleman/internal/api"
)

// Wherever a server is killed that deletes a workspace, the next one ends the
// delete: the transcript is neither lost nor left without a record, and can be
// removed.
func TestFaultDeleteKeepsTranscripts(t *testing.T) {
	for _, at := range []string{"delete/trashed", "delete/forgotten", "delete/directory", "delete/unrecorded"} {
		for _, dirty := range []bool{false, true} {
			t.Run(at+map[bool]string{true: " with work"}[dirty], func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				r := p.serve(t)
				w, s := r.printed("w")
				if dirty {
					write(t, filepath.Join(w.Root, "precious"), "work")
				}
				r.stop()
				p.killAsking(t, at, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
				if !p.hasState(s.ID) {
					t.Fatal("the transcript is lost")
				}
				r = p.serve(t)
				r.until("the delete ends", func() bool { return r.call("GET", "/workspaces/"+w.ID, nil).status == 404 })
				r.readable(s, "printed by w")
				if got := r.transcripts(); len(got) != 1 || got[0] != s.ID {
					t.Errorf("transcripts %v, want %s", got, s.ID)
				}
				if restored := get[api.Restored](r, "POST", "/workspaces/"+w.ID+"/restore", nil); restored.Sessions != 1 || restored.Workspace.Branch != w.Branch {
					t.Errorf("restored: %+v", restored)
				}
				get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID+"?discard_work=1", nil)
				get[api.ForgottenTranscripts](r, "DELETE", "/transcripts", nil)
				if p.hasState(s.ID) {
					t.Error("it cannot be removed")
				}
			})
		}
	}
}

// A server that is killed between a state directory and its record: the next
// removal drops the record.
func TestFaultTranscriptRemoved(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	w, s := r.printed("w")
	get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
	r.stop()
	p.killAsking(t, "transcript/removed", "DELETE", "/transcripts", nil)
	if p.hasState(s.ID) {
		t.Fatal("the state is there still: it was killed before")
	}
	r = p.serve(t)
	if got := r.transcripts(); len(got) != 1 {
		t.Fatalf("transcripts %v", got)
	}
	if a := r.call("GET", "/sessions/"+s.ID+"/output", nil); a.status != 404 {
		t.Errorf("output of what is gone: %d %s", a.status, a.body)
	}
	if done := get[api.ForgottenTranscripts](r, "DELETE", "/transcripts", nil); len(done.Transcripts) != 1 || done.Transcripts[0].Error != "" {
		t.Errorf("once more: %+v", done)
	}
	if got := r.transcripts(); len(got) != 0 {
		t.Errorf("transcripts %v", got)
	}
}

// A restore of a clean workspace in which the server is killed brings its
// sessions back, too.
func TestFaultRestoreOfTranscripts(t *testing.T) {
	for _, at := range []string{"restore/directory", "restore/added", "create/checked-out"} {
		t.Run(at, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			r := p.serve(t)
			w, s := r.printed("w")
			get[api.Deleted](r, "DELETE", "/workspaces/"+w.ID, nil)
			r.stop()
			p.killAsking(t, at, "POST", "/workspaces/"+w.ID+"/restore", nil)
			r = p.serve(t)
			back := get[api.Workspace](r, "GET", "/workspaces/"+w.ID+"?wait=60s", nil)
			if back.State != "ready" || back.Branch != w.Branch || len(back.Sessions) != 1 {
				t.Errorf("restored: %+v", back)
			}
			r.readable(s, "printed by w")
			git(t, w.Root, "diff", "--exit-code", "HEAD")
		})
	}
}
