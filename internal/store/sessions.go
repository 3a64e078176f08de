package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"middleman/internal/bundle"
	"middleman/internal/sandbox"
	"middleman/terminal"
)

// Session is the record of a session: its request and its last known state.
// While the session runs, its backend has the present state.
type Session struct {
	ID          string
	WorkspaceID string
	Name        string // unique within the workspace
	Backend     string // the name of the backend that it was started with
	Argv        []string
	Dir         string
	State       terminal.State
	Error       string
	Exit        *terminal.Exit // nil unless State is StateExited
	CreatedAt   time.Time
	Parent      string // id of the session that spawned it, "" if the user did
	Profile     string // the profile that it was started with, "" for the shell or a command
	// Conversation is the id by which its program takes the conversation up
	// again, "" if it is not known.
	Conversation string
	// Settled is set once its end needs nobody any more: its conversation was taken up
	// again, another session was started in its place, or it was stopped since.
	Settled bool
	Sandbox *sandbox.Applied // nil for none
	Bundle  *bundle.Launched // nil for none
}

const sessionColumns = `id, workspace_id, name, backend, argv, dir, state, error, exit, created_at, parent, profile, conversation, sandbox, bundle, settled`

// CreateSession adds x. The error is ErrNameTaken if another session of the
// workspace has its name, and ErrNotFound if there is no such workspace.
func (s *Store) CreateSession(ctx context.Context, x Session) error {
	values, err := encodeSession(x)
	if err == nil {
		_, err = s.write.ExecContext(ctx, `INSERT INTO sessions (`+sessionColumns+`) VALUES (`+marks(sessionColumns)+`)`, values...)
	}
	switch {
	case isUnique(err):
		err = ErrNameTaken
	case isForeignKey(err):
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store session %s of workspace %s: %w", x.Name, x.WorkspaceID, err)
	}
	return nil
}

// SetSessionState sets the state and the error text that goes with it ("" for
// none). If an exit is recorded, it changes nothing and returns nil. If there is
// no such session, the error is ErrNotFound.
func (s *Store) SetSessionState(ctx context.Context, id string, state terminal.State, problem string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET
			state = CASE WHEN exit IS NULL THEN ? ELSE state END,
			error = CASE WHEN exit IS NULL THEN ? ELSE error END WHERE id = ?`, string(state), problem, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store state of session %s: %w", id, err)
	}
	return nil
}

// RenameSession gives the session another name. The error is ErrNameTaken if
// another of its workspace has it, and ErrNotFound if there is no such session.
func (s *Store) RenameSession(ctx context.Context, id, name string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET name = ? WHERE id = ?`, name, id)
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store name of session %s: %w", id, err)
	}
	return nil
}

// SetSessionBackend records that another backend is about to start the session.
// If there is no such session, the error is ErrNotFound.
func (s *Store) SetSessionBackend(ctx context.Context, id, backend string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET backend = ? WHERE id = ?`, backend, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store backend of session %s: %w", id, err)
	}
	return nil
}

// SetSessionExit records how the program ended, and sets StateExited. If there is
// no such session, the error is ErrNotFound.
func (s *Store) SetSessionExit(ctx context.Context, id string, exit terminal.Exit) error {
	data, err := json.Marshal(exit)
	if err != nil {
		return fmt.Errorf("store exit of session %s: %w", id, err)
	}
	r, err := s.write.ExecContext(ctx, `UPDATE sessions SET state = ?, error = '', exit = ? WHERE id = ?`,
		string(terminal.StateExited), string(data), id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store exit of session %s: %w", id, err)
	}
	return nil
}

// DeleteSession removes the session, or returns ErrNotFound.
func (s *Store) DeleteSession(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM sessions WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove session %s from the store: %w", id, err)
	}
	return nil
}

// Session returns the session with that id, or ErrNotFound.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	x, err := scanSession(s.read.QueryRowContext(ctx, `SELECT `+sessionColumns+` FROM sessions WHERE `+plainID+` AND id = ?`, id))
	if err != nil {
		return Session{}, fmt.Errorf("read session %s: %w", id, notFound(err))
	}
	return x, nil
}

// Sessions returns a page of the workspace's sessions, or of all sessions if
// workspaceID is "", oldest first. next is the cursor of the next page, "" at the
// end.
func (s *Store) Sessions(ctx context.Context, workspaceID string, p Page) (list []Session, next string, err error) {
	return sessionPage(ctx, s, `SELECT `+sessionColumns+` FROM sessions`, workspaceID, p, scanSession)
}

func (x Session) cursor() string { return cursorAt(x.CreatedAt, x.ID) }

// sessionPage returns a page of the rows of a query for sessions: those of one
// workspace, or all if workspaceID is "".
func sessionPage[T interface{ cursor() string }](ctx context.Context, s *Store, query, workspaceID string, p Page, scan func(scanner) (T, error)) (list []T, next string, err error) {
	at, id, err := p.after()
	if err != nil {
		return nil, "", err
	}
	query += ` WHERE ` + plainID + ` AND (created_at, id) > (?, ?)`
	args := []any{at, id}
	if workspaceID != "" {
		query += ` AND workspace_id = ?`
		args = append(args, workspaceID)
	}
	if list, err = collect(ctx, s.read, scan, query+` ORDER BY created_at, id LIMIT ?`, append(args, p.sqlLimit())...); err != nil {
		return nil, "", fmt.Errorf("list sessions: %w", err)
	}
	list, next = cut(list, p, T.cursor)
	return list, next, nil
}

// encodeSession returns the values of sessionColumns.
func encodeSession(x Session) (values []any, err error) {
	argv, err := json.Marshal(x.Argv)
	if err != nil {
		return nil, err
	}
	var exit *string
	if x.Exit != nil {
		end, err := json.Marshal(x.Exit)
		if err != nil {
			return nil, err
		}
		text := string(end)
		exit = &text
	}
	confined, err := jsonOf(x.Sandbox)
	if err != nil {
		return nil, err
	}
	launched, err := jsonOf(x.Bundle)
	if err != nil {
		return nil, err
	}
	return []any{x.ID, x.WorkspaceID, x.Name, x.Backend, string(argv), x.Dir, string(x.State), x.Error, exit, x.CreatedAt.UnixNano(),
		x.Parent, x.Profile, x.Conversation, confined, launched, x.Settled}, nil
}

// jsonOf returns v as JSON, "" for nil.
func jsonOf[T any](v *T) (string, error) {
	if v == nil {
		return "", nil
	}
	text, err := json.Marshal(v)
	return string(text), err
}

func scanSession(row scanner) (Session, error) {
	var x Session
	var argv, confined, launched string
	var exit *string
	var created int64
	err := row.Scan(&x.ID, &x.WorkspaceID, &x.Name, &x.Backend, &argv, &x.Dir, &x.State, &x.Error, &exit, &created, &x.Parent, &x.Profile, &x.Conversation, &confined, &launched, &x.Settled)
	if err != nil {
		return Session{}, err
	}
	x.CreatedAt = fromNano(created)
	// A damaged row says so in Error. It must not keep a list from its other rows.
	if err := json.Unmarshal([]byte(argv), &x.Argv); err != nil {
		x.Argv, x.Error = []string{}, fmt.Sprintf("its record is damaged: argv: %v", err)
	}
	if exit != nil {
		if err := json.Unmarshal([]byte(*exit), &x.Exit); err != nil {
			x.Exit, x.Error = nil, fmt.Sprintf("its record is damaged: exit: %v", err)
		}
	}
	if confined != "" {
		if err := json.Unmarshal([]byte(confined), &x.Sandbox); err != nil {
			x.Sandbox, x.Error = &sandbox.Applied{}, fmt.Sprintf("its record is damaged: sandbox: %v", err)
		}
	}
	if launched != "" {
		if err := json.Unmarshal([]byte(launched), &x.Bundle); err != nil {
			x.Bundle, x.Error = &bundle.Launched{}, fmt.Sprintf("its record is damaged: bundle: %v", err)
		}
		if x.Bundle != nil && x.Bundle.Grants == nil {
			x.Bundle.Grants = []bundle.Grant{} // of a record that was damaged, or written by an earlier build
		}
	}
	return x, nil
}
