package store

import (
	"testing"
	"time"
)

func TestApprovals(t *testing.T) {
	s := open(t)
	add := func(id, session, decision, by string, at time.Time) Approval {
		t.Helper()
		a := Approval{ID: id, SessionID: session, Tool: "Bash", Digest: []byte("same"), Decision: decision, DecidedBy: by, Reason: "asked", CreatedAt: at}
		if decision != "" {
			a.DecidedAt = at
		}
		must(t, s.AddApproval(ctx, a))
		return a
	}
	add("a1", "s1", Allowed, "rule", t0)
	add("a2", "s1", "", "", t0.Add(1))
	add("a3", "s2", "", "", t0.Add(2))
	wantErr(t, s.AddApproval(ctx, Approval{ID: "a1", Digest: []byte("x")}), ErrNameTaken)
	list := func(q ApprovalQuery, want ...string) {
		t.Helper()
		var got []string
		for p := (Page{Limit: 1}); ; {
			page, next, err := s.Approvals(ctx, q, p)
			must(t, err)
			for _, a := range page {
				got = append(got, a.ID)
			}
			if p.Cursor = next; next == "" {
				break
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%+v: %v, want %v", q, got, want)
		}
		for i := range got {
			if got[i] != want[i] {
				t.Errorf("%+v: %v, want %v", q, got, want)
			}
		}
	}
	list(ApprovalQuery{All: true}, "a1", "a2", "a3")
	list(ApprovalQuery{}, "a2", "a3")
	list(ApprovalQuery{SessionID: "s2"}, "a3")

	_, err := s.DeniedBefore(ctx, "s1", []byte("same"), "rule")
	wantErr(t, err, ErrNotFound)
	must(t, s.DecideApproval(ctx, "a2", Denied, "", "command line", t0))
	wantErr(t, s.DecideApproval(ctx, "a2", Allowed, "", "login l1", t0), ErrNotFound) // the first counts
	wantErr(t, s.ReopenApproval(ctx, "a2", "", ""), ErrNotFound)
	wantErr(t, s.ExplainApproval(ctx, "a2", "", ""), ErrNotFound)
	a, err := s.Approval(ctx, "a2")
	if err != nil || a.Decision != Denied || a.DecidedBy != "command line" || a.Reason != "asked" || !a.DecidedAt.Equal(t0) {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = s.DeniedBefore(ctx, "s1", []byte("same"), "rule"); err != nil || a.ID != "a2" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = s.DeniedBefore(ctx, "s2", []byte("same"), "rule")
	wantErr(t, err, ErrNotFound)

	must(t, s.DecideApproval(ctx, "a3", Undecided, "the server ended", "", t0))
	list(ApprovalQuery{})
	must(t, s.ReopenApproval(ctx, "a3", "rule", "again"))
	list(ApprovalQuery{}, "a3")
	if a, err = s.Approval(ctx, "a3"); err != nil || !a.DecidedAt.IsZero() || a.Rule != "rule" || a.Reason != "again" {
		t.Errorf("%+v, %v", a, err)
	}
	must(t, s.ExplainApproval(ctx, "a3", "other", "why"))
	if a, err = s.Approval(ctx, "a3"); err != nil || a.Decision != "" || a.Rule != "other" || a.Reason != "why" {
		t.Errorf("%+v, %v", a, err)
	}
	_, err = s.Approval(ctx, "../x")
	wantErr(t, err, ErrNotFound)
}

// Of decisions the newest stay; what waits stays in any case, and so does what a
// person has decided, however much rules decide since.
func TestOldApprovalsGo(t *testing.T) {
	s := open(t)
	must(t, s.AddApproval(ctx, Approval{ID: "waits", Digest: []byte("x"), CreatedAt: t0}))
	must(t, s.AddApproval(ctx, Approval{ID: "old", Digest: []byte("x"), Decision: Allowed, DecidedBy: "rule", CreatedAt: t0.Add(1)}))
	must(t, s.AddApproval(ctx, Approval{ID: "mine", SessionID: "s1", Digest: []byte("x"), Decision: Denied, DecidedBy: "command line", CreatedAt: t0.Add(1)}))
	_, err := s.write.ExecContext(ctx, `WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
		INSERT INTO approvals SELECT 'x' || i, '', '', '', '', '', '', '', '', x'', 'allow', '', '', 'rule', ? + i, 1 FROM n`, keptApprovals, t0.UnixNano())
	must(t, err)
	must(t, s.AddApproval(ctx, Approval{ID: "new", Digest: []byte("x"), Decision: Allowed, DecidedBy: "rule", CreatedAt: t0.Add(time.Hour)}))
	_, err = s.Approval(ctx, "old")
	wantErr(t, err, ErrNotFound)
	for _, id := range []string{"waits", "mine", "x3", "new"} {
		if _, err := s.Approval(ctx, id); err != nil {
			t.Error(err)
		}
	}
}
