package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/plaintext"
	"middleman/internal/store"
	"middleman/workspace"
)

// noneError says that a list has no such workspace or session.
type noneError string

func (e noneError) Error() string { return string(e) }

// ProblemCode returns the code that the command line prints with --json.
func (noneError) ProblemCode() string { return api.CodeNotFound }

// Deleted lists the deleted workspaces that have a record, the last deleted one
// first, and those of their sessions whose transcripts are kept. It asks the
// server; if none answers it reads the database.
func Deleted(ctx context.Context, c *cli.CLI) (List, error) {
	list, err := readDeleted(ctx, c)
	slices.SortStableFunc(list.Workspaces, func(a, b api.Workspace) int { return deletedAt(b).Compare(deletedAt(a)) })
	return list, err
}

func deletedAt(w api.Workspace) time.Time {
	if w.DeletedAt == nil {
		return time.Time{}
	}
	return *w.DeletedAt
}

func readDeleted(ctx context.Context, c *cli.CLI) (List, error) {
	server, err := connect(ctx, c)
	if err != nil {
		return List{}, err
	}
	if server != nil {
		defer server.Close()
		workspaces, err := server.DeletedWorkspaces(ctx)
		if err != nil {
			return List{}, err
		}
		sessions, err := server.Transcripts(ctx)
		return List{Workspaces: workspaces, Sessions: sessions}.on(c.Runtime), err
	}
	return deletedOnDisk(ctx, c)
}

// deletedOnDisk is Deleted from the database.
func deletedOnDisk(ctx context.Context, c *cli.CLI) (List, error) {
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return List{}, nil
	}
	if err != nil {
		return List{}, err
	}
	defer db.Close()
	return deletedRecords(ctx, db)
}

func deletedRecords(ctx context.Context, db *store.Store) (List, error) {
	all := store.Page{Limit: -1}
	var list List
	rows, _, err := db.DeletedWorkspaces(ctx, all)
	if err != nil {
		return List{}, err
	}
	for _, row := range rows {
		w := app.RecordedWorkspace(row.Workspace)
		w.DeletedAt, w.NotRestorable = &row.DeletedAt, row.RestoreFrom == workspace.FromNothing
		list.Workspaces = append(list.Workspaces, w)
	}
	label(list.Workspaces)
	labels := list.labels()
	kept, _, err := db.Transcripts(ctx, "", all)
	if err != nil {
		return List{}, err
	}
	for _, t := range kept {
		s := app.RecordedSession(t.Session, labels[t.WorkspaceID])
		s.DeletedAt = &t.DeletedAt
		list.Sessions = append(list.Sessions, s)
	}
	return list, nil
}

// InDeleted calls find with the list of Deleted if err says that there is no such
// workspace or session. If there is none among the deleted ones either, the error
// is err.
func InDeleted[T any](ctx context.Context, c *cli.CLI, err error, find func(List) (T, error)) (found T, _ error) {
	if _, none := errors.AsType[noneError](err); !none {
		return found, err
	}
	past, pastErr := Deleted(ctx, c)
	if pastErr != nil {
		return found, errors.Join(err, pastErr)
	}
	found, pastErr = find(past)
	if _, none := errors.AsType[noneError](pastErr); none {
		return found, err
	}
	return found, pastErr
}

// Readable is Find for a command that only reads: arg may also mean a session of
// a deleted workspace, of several with one name that of the one deleted last.
// Then it says so on standard error.
func Readable(ctx context.Context, c *cli.CLI, arg string) (Target, error) {
	t, err := Find(ctx, c, arg)
	return orDeleted(ctx, c, arg, t, err)
}

// orDeleted returns t and err, or if there is no such session the one of a deleted
// workspace.
func orDeleted(ctx context.Context, c *cli.CLI, arg string, t Target, err error) (Target, error) {
	if err != nil {
		var s api.Session
		s, err = InDeleted(ctx, c, err, func(past List) (api.Session, error) { return past.Session(arg) })
		if err == nil {
			t, err = Direct(c, s)
		}
	}
	if s := t.Shown; err == nil && s.DeletedAt != nil {
		fmt.Fprintf(c.Errs, "middleman: workspace %s was deleted %s ago, at %s: this is the transcript of %s\n",
			plaintext.Line(s.WorkspaceName), cli.Age(*s.DeletedAt), s.DeletedAt.Local().Format(time.DateTime), plaintext.Line(Label(s)))
	}
	return t, err
}
