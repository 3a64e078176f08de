package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/names"
	"middleman/workspace"
)

// detailColumns are the columns, besides id and name, that the tables of
// workspaces and of deleted workspaces have in common.
const detailColumns = `mode, root, subdir, repository, git_dir, branch, base, base_commit, created_at,
	parent, parent_session, port, ports, config_hash, ephemeral, own_branch, restore_from, tip, base_dir`

const workspaceColumns = `id, name, ` + detailColumns + `, state, error`

var workspaceMarks = marks(workspaceColumns)

// details returns w's values for detailColumns.
func details(w workspace.Workspace) []any {
	return []any{string(w.Mode), w.Root, w.Subdir, w.Repository, w.GitDir, w.Branch, w.Base, w.BaseCommit, w.CreatedAt.UnixNano(),
		w.Parent, w.ParentSession, w.Port, w.Ports, w.ConfigHash, w.Ephemeral, w.OwnBranch, string(w.RestoreFrom), w.Tip, w.BaseDir}
}

// scanDetails returns the destinations for the values of detailColumns.
func scanDetails(w *workspace.Workspace, created *int64) []any {
	return []any{&w.Mode, &w.Root, &w.Subdir, &w.Repository, &w.GitDir, &w.Branch, &w.Base, &w.BaseCommit, created,
		&w.Parent, &w.ParentSession, &w.Port, &w.Ports, &w.ConfigHash, &w.Ephemeral, &w.OwnBranch, &w.RestoreFrom, &w.Tip, &w.BaseDir}
}

// values returns w's values for workspaceColumns.
func values(w workspace.Workspace) []any {
	return slices.Concat([]any{w.ID, w.Name}, details(w), []any{string(w.State), w.Error})
}

// insertWorkspace adds a workspace: its values, and the git directory of the
// repository in which its name is unique, "" for none. That is known before the
// workspace is made, and so before its own git_dir is.
var insertWorkspace = `INSERT INTO workspaces (` + workspaceColumns + `, named_in) VALUES (` + workspaceMarks + `, ?)`

// CreateWorkspace adds w. If a workspace of its repository has the name, the
// error is ErrNameTaken.
func (s *Store) CreateWorkspace(ctx context.Context, w workspace.Workspace) error {
	_, err := s.write.ExecContext(ctx, insertWorkspace, append(values(w), w.GitDir)...)
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err != nil {
		return fmt.Errorf("store workspace %s: %w", w.Name, err)
	}
	return nil
}

// UpdateWorkspace replaces the row with w's id. The error is ErrNotFound if there
// is none, and ErrNameTaken if another workspace of w's repository has the name.
func (s *Store) UpdateWorkspace(ctx context.Context, w workspace.Workspace) error {
	r, err := s.write.ExecContext(ctx,
		`UPDATE workspaces SET (`+workspaceColumns+`) = (`+workspaceMarks+`), named_in = CASE WHEN ? = '' THEN named_in ELSE ? END
			WHERE id = ?`, append(values(w), w.GitDir, w.GitDir, w.ID)...)
	if isUnique(err) {
		err = ErrNameTaken
	}
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store workspace %s: %w", w.Name, err)
	}
	return nil
}

// SetWorkspaceState sets the state and the error text that goes with it ("" for
// none). If there is no such workspace, the error is ErrNotFound.
func (s *Store) SetWorkspaceState(ctx context.Context, id string, state workspace.State, problem string) error {
	r, err := s.write.ExecContext(ctx, `UPDATE workspaces SET state = ?, error = ? WHERE id = ?`, string(state), problem, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("store state of workspace %s: %w", id, err)
	}
	return nil
}

// DeleteWorkspace removes the workspace with its stages and sessions, or
// returns ErrNotFound.
func (s *Store) DeleteWorkspace(ctx context.Context, id string) error {
	r, err := s.write.ExecContext(ctx, `DELETE FROM workspaces WHERE id = ?`, id)
	if err = mustChange(r, err); err != nil {
		return fmt.Errorf("remove workspace %s from the store: %w", id, err)
	}
	return nil
}

// Workspace returns the workspace with that id, or ErrNotFound.
func (s *Store) Workspace(ctx context.Context, id string) (workspace.Workspace, error) {
	w, err := scanWorkspace(s.read.QueryRowContext(ctx, `SELECT `+workspaceColumns+` FROM workspaces WHERE `+plainID+` AND id = ?`, id))
	if err != nil {
		return workspace.Workspace{}, fmt.Errorf("read workspace %s: %w", id, notFound(err))
	}
	return w, nil
}

// Roots returns the directories of all workspaces that are not deleted. One that is
// being made may have none yet.
func (s *Store) Roots(ctx context.Context) ([]string, error) {
	roots, err := collect(ctx, s.read, func(row scanner) (root string, err error) { return root, row.Scan(&root) },
		`SELECT root FROM workspaces WHERE root <> ''`)
	if err != nil {
		return nil, fmt.Errorf("list directories of workspaces: %w", err)
	}
	return roots, nil
}

// IDsOf returns the ids of all workspaces of a repository, deleted ones among them.
func (s *Store) IDsOf(ctx context.Context, repository string) ([]string, error) {
	ids, err := collect(ctx, s.read, func(row scanner) (id string, err error) { return id, row.Scan(&id) },
		`SELECT id FROM workspaces WHERE repository = ?1 UNION SELECT id FROM deleted_workspaces WHERE repository = ?1`, repository)
	if err != nil {
		return nil, fmt.Errorf("list workspaces of %s: %w", repository, err)
	}
	return ids, nil
}

// Names returns what the workspaces are called, oldest first.
func (s *Store) Names(ctx context.Context) ([]names.Workspace, error) {
	return s.namesIn(ctx, `workspaces WHERE `+plainID+` ORDER BY created_at, id`)
}

// DeletedNames is Names for the deleted workspaces, in the order of their
// deletion.
func (s *Store) DeletedNames(ctx context.Context) ([]names.Workspace, error) {
	return s.namesIn(ctx, `deleted_workspaces WHERE `+plainID+` ORDER BY deleted_at, id`)
}

func (s *Store) namesIn(ctx context.Context, rows string) ([]names.Workspace, error) {
	list, err := collect(ctx, s.read, func(row scanner) (w names.Workspace, err error) {
		return w, row.Scan(&w.ID, &w.Name, &w.Repository)
	}, `SELECT id, name, repository FROM `+rows)
	if err != nil {
		return nil, fmt.Errorf("list names of workspaces: %w", err)
	}
	return list, nil
}

// Workspaces returns a page of all workspaces, oldest first. next is the cursor of
// the next page, "" at the end.
func (s *Store) Workspaces(ctx context.Context, p Page) (list []workspace.Workspace, next string, err error) {
	at, id, err := p.after()
	if err != nil {
		return nil, "", err
	}
	list, err = collect(ctx, s.read, scanWorkspace, `SELECT `+workspaceColumns+` FROM workspaces
		WHERE `+plainID+` AND (created_at, id) > (?, ?) ORDER BY created_at, id LIMIT ?`, at, id, p.sqlLimit())
	if err != nil {
		return nil, "", fmt.Errorf("list workspaces: %w", err)
	}
	list, next = cut(list, p, func(x workspace.Workspace) string { return cursorAt(x.CreatedAt, x.ID) })
	return list, next, nil
}

func scanWorkspace(row scanner) (workspace.Workspace, error) {
	var w workspace.Workspace
	var created int64
	err := row.Scan(slices.Concat([]any{&w.ID, &w.Name}, scanDetails(&w, &created), []any{&w.State, &w.Error})...)
	w.CreatedAt = fromNano(created)
	return w, err
}

// AddStage records that a stage of an operation on the workspace began or ended.
// If there is no such workspace, the error is ErrNotFound.
func (s *Store) AddStage(ctx context.Context, workspaceID string, stage workspace.Stage) error {
	_, err := s.write.ExecContext(ctx,
		`INSERT INTO stages (workspace_id, name, state, detail, time) VALUES (?, ?, ?, ?, ?)`,
		workspaceID, stage.Name, stage.State, stage.Detail, stage.Time.UnixNano())
	if isForeignKey(err) {
		err = ErrNotFound
	}
	if err != nil {
		return fmt.Errorf("store stage %s of workspace %s: %w", stage.Name, workspaceID, err)
	}
	return nil
}

// Stages returns the workspace's stages, in the order in which AddStage recorded
// them.
func (s *Store) Stages(ctx context.Context, workspaceID string) ([]workspace.Stage, error) {
	list, err := collect(ctx, s.read, scanStage,
		`SELECT name, state, detail, time FROM stages WHERE workspace_id = ? ORDER BY seq`, workspaceID)
	if err != nil {
		return nil, fmt.Errorf("list stages of workspace %s: %w", workspaceID, err)
	}
	return list, nil
}

func scanStage(row scanner) (workspace.Stage, error) {
	var stage workspace.Stage
	var at int64
	err := row.Scan(&stage.Name, &stage.State, &stage.Detail, &at)
	stage.Time = fromNano(at)
	return stage, err
}

// marks returns an SQL parameter for each of columns, separated by commas.
func marks(columns string) string { return "?" + strings.Repeat(", ?", strings.Count(columns, ",")) }

// querier is a *sql.DB or a *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// collect runs a query and scans each of its rows.
func collect[T any](ctx context.Context, db querier, scan func(scanner) (T, error), query string, args ...any) (list []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, err
		}
		list = append(list, item)
	}
	return list, rows.Err()
}

// mustChange returns err, or ErrNotFound if the statement changed no row.
func mustChange(r sql.Result, err error) error {
	if err != nil {
		return err
	}
	n, err := r.RowsAffected()
	if err == nil && n == 0 {
		err = ErrNotFound
	}
	return err
}

func notFound(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return ErrNotFound
	}
	return err
}
