package store

import (
	"context"
	"fmt"
	"time"
)

// keptApprovals bounds the recorded decisions of people, and all others: of more,
// the oldest go. They count apart, because an agent can make rules decide as often
// as it likes: that must not push out what the user has decided.
const keptApprovals = 10_000

// decidedBy are the conditions for the two, as their indexes have them.
var decidedBy = [2]string{
	`decision <> '' AND decided_by IN ('', 'rule')`,
	`decision <> '' AND decided_by NOT IN ('', 'rule')`,
}

// The decisions of an Approval. It has none while it waits.
const (
	Allowed   = "allow"
	Denied    = "deny"
	Undecided = "none" // nobody waits for a decision any more
)

// Approval is what an agent asked to be allowed, and what was decided.
type Approval struct {
	ID          string
	SessionID   string
	WorkspaceID string
	Session     string // what the session was called then
	Agent       string
	Tool        string
	Summary     string
	Arguments   string
	Diff        string
	Digest      []byte // of the tool and all of its arguments
	Decision    string // Allowed, Denied, Undecided, or "" while it waits
	Rule        string // the rule that decided, or because of which the user was asked
	Reason      string
	DecidedBy   string
	CreatedAt   time.Time
	DecidedAt   time.Time // zero while it waits
}

const approvalColumns = `id, session_id, workspace_id, session, agent, tool, summary, arguments, diff, digest, decision, rule, reason, decided_by, created_at, decided_at`

// AddApproval stores a, and removes the oldest decisions beyond a limit. The error
// is ErrNameTaken if there is one with its id.
func (s *Store) AddApproval(ctx context.Context, a Approval) error {
	_, err := s.write.ExecContext(ctx, `INSERT INTO approvals (`+approvalColumns+`) VALUES (`+marks(approvalColumns)+`)`,
		a.ID, a.SessionID, a.WorkspaceID, a.Session, a.Agent, a.Tool, a.Summary, a.Arguments, a.Diff, a.Digest,
		a.Decision, a.Rule, a.Reason, a.DecidedBy, a.CreatedAt.UnixNano(), nanoOrZero(a.DecidedAt))
	if isUnique(err) {
		err = ErrNameTaken
	}
	for _, such := range decidedBy {
		if err == nil {
			_, err = s.write.ExecContext(ctx, `DELETE FROM approvals WHERE `+such+` AND created_at <=
				(SELECT created_at FROM approvals WHERE `+such+` ORDER BY created_at DESC LIMIT 1 OFFSET ?)`, keptApprovals)
		}
	}
	if err != nil {
		return fmt.Errorf("store approval %s: %w", a.ID, err)
	}
	return nil
}

// DecideApproval records the decision on an approval that waits. If none with
// that id waits, the error is ErrNotFound and nothing is changed: so of two
// answers one counts.
func (s *Store) DecideApproval(ctx context.Context, id, decision, reason, by string, at time.Time) error {
	r, err := s.write.ExecContext(ctx, `UPDATE approvals SET decision = ?, reason = CASE ? WHEN '' THEN reason ELSE ? END, decided_by = ?, decided_at = ?
		WHERE id = ? AND decision = ''`, decision, reason, reason, by, at.UnixNano(), id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store the decision on approval %s: %w", id, err)
	}
	return nil
}

// ExplainApproval changes why the user is asked about an approval that waits, or
// returns ErrNotFound.
func (s *Store) ExplainApproval(ctx context.Context, id, rule, reason string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE approvals SET rule = ?, reason = ? WHERE id = ? AND decision = ''`, rule, reason, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store why approval %s waits: %w", id, err)
	}
	return nil
}

// ReopenApproval lets an undecided approval wait again, with the rule and the reason
// for which the user is asked, or returns ErrNotFound.
func (s *Store) ReopenApproval(ctx context.Context, id, rule, reason string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE approvals SET decision = '', rule = ?, reason = ?, decided_by = '', decided_at = 0
		WHERE id = ? AND decision = '`+Undecided+`'`, rule, reason, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store that approval %s waits again: %w", id, err)
	}
	return nil
}

// Approval returns the approval with that id, or ErrNotFound.
func (s *Store) Approval(ctx context.Context, id string) (Approval, error) {
	a, err := scanApproval(s.read.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals WHERE `+plainID+` AND id = ?`, id))
	if err != nil {
		return Approval{}, fmt.Errorf("read approval %s: %w", id, notFound(err))
	}
	return a, nil
}

// DeniedBefore returns the approval by which a person denied the same tool with
// the same arguments to the session, or ErrNotFound.
func (s *Store) DeniedBefore(ctx context.Context, sessionID string, digest []byte, rule string) (Approval, error) {
	a, err := scanApproval(s.read.QueryRowContext(ctx, `SELECT `+approvalColumns+` FROM approvals
		WHERE `+plainID+` AND session_id = ? AND digest = ? AND decision = '`+Denied+`' AND decided_by <> ? ORDER BY created_at DESC LIMIT 1`,
		sessionID, digest, rule))
	if err != nil {
		return Approval{}, fmt.Errorf("look for a denial in session %s: %w", sessionID, notFound(err))
	}
	return a, nil
}

// ApprovalQuery selects approvals.
type ApprovalQuery struct {
	SessionID string // "" for those of all sessions
	All       bool   // those that were decided too
}

// Approvals returns a page of approvals, oldest first. next is the cursor of the
// next page, "" at the end.
func (s *Store) Approvals(ctx context.Context, q ApprovalQuery, p Page) (list []Approval, next string, err error) {
	at, id, err := p.after()
	if err != nil {
		return nil, "", err
	}
	query := `SELECT ` + approvalColumns + ` FROM approvals WHERE ` + plainID + ` AND (created_at, id) > (?, ?)`
	args := []any{at, id}
	if q.SessionID != "" {
		query += ` AND session_id = ?`
		args = append(args, q.SessionID)
	}
	if !q.All {
		query += ` AND decision = ''`
	}
	list, err = collect(ctx, s.read, scanApproval, query+` ORDER BY created_at, id LIMIT ?`, append(args, p.sqlLimit())...)
	if err != nil {
		return nil, "", fmt.Errorf("list approvals: %w", err)
	}
	list, next = cut(list, p, func(a Approval) string { return cursorAt(a.CreatedAt, a.ID) })
	return list, next, nil
}

func scanApproval(row scanner) (a Approval, err error) {
	var created, decided int64
	err = row.Scan(&a.ID, &a.SessionID, &a.WorkspaceID, &a.Session, &a.Agent, &a.Tool, &a.Summary, &a.Arguments, &a.Diff, &a.Digest,
		&a.Decision, &a.Rule, &a.Reason, &a.DecidedBy, &created, &decided)
	a.CreatedAt = fromNano(created)
	if decided != 0 {
		a.DecidedAt = fromNano(decided)
	}
	return a, err
}

func nanoOrZero(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}
