package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/private"
	"middleman/terminal"
)

// maxRecent is how many sessions NoteAttached remembers.
const maxRecent = 100

// NoteAttached remembers that the user has attached to the session with that
// id. Each session has an empty file, whose time is that of the last attach, so
// several processes need no lock.
func NoteAttached(c *cli.CLI, id string) error {
	dir := c.Dirs.Attached()
	err := terminal.CheckID(id)
	if err == nil {
		err = private.MakeDir(dir)
	}
	if err == nil {
		err = private.Replace(filepath.Join(dir, id), nil, private.ThisBoot)
	}
	if err == nil {
		var ids []string
		ids, err = recent(dir)
		for _, old := range ids[min(len(ids), maxRecent):] {
			if e := os.Remove(filepath.Join(dir, old)); !errors.Is(e, fs.ErrNotExist) {
				err = errors.Join(err, e)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("remember the attach: %w", err)
	}
	return nil
}

// recent returns the ids of the sessions that dir remembers, the last attached
// first.
func recent(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	type attach struct {
		id string
		at time.Time
	}
	var found []attach
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.Mode().IsRegular() && terminal.CheckID(entry.Name()) == nil {
			found = append(found, attach{entry.Name(), info.ModTime()})
		}
	}
	slices.SortFunc(found, func(a, b attach) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.id, b.id)) })
	ids := make([]string, len(found))
	for i, a := range found {
		ids[i] = a.id
	}
	return ids, err
}

// FindToAttach finds the session that arg means to attach. It is Find, but of
// several live sessions of a workspace it takes the one last attached, else a
// shell, else the first, and returns the others. arg "" is the session last
// attached, "-" the one before that; those that have ended are passed over.
func FindToAttach(ctx context.Context, c *cli.CLI, arg string) (t Target, others []api.Session, err error) {
	ids, err := recent(c.Dirs.Attached())
	if err != nil {
		return Target{}, nil, err
	}
	if arg == "" || arg == "-" {
		t, err = find(ctx, c, func(l List) (api.Session, error) { return l.attachedBefore(ctx, c, arg, ids) })
		return t, nil, err
	}
	t, err = Find(ctx, c, arg)
	if several, ok := errors.AsType[*severalError](err); ok {
		s, others := several.lastUsed(ids)
		t, err = Direct(c, s)
		return t, others, err
	}
	return t, nil, err
}

// LastUsed returns the live session of a workspace that was last attached, else
// a shell, else the first. It returns false if none is live.
func LastUsed(c *cli.CLI, list List, w api.Workspace) (s api.Session, others []api.Session, ok bool, err error) {
	ids, err := recent(c.Dirs.Attached())
	several := &severalError{w, live(list.SessionsOf(w))}
	if err != nil || len(several.Live) == 0 {
		return api.Session{}, nil, false, err
	}
	s, others = several.lastUsed(ids)
	return s, others, true, nil
}

// ByUse returns the sessions in the order of their last attach, the last first;
// those that were never attached follow by name.
func ByUse(c *cli.CLI, sessions []api.Session) ([]api.Session, error) {
	ids, err := recent(c.Dirs.Attached())
	rank := make(map[string]int, len(ids))
	for i, id := range ids {
		rank[id] = i - len(ids)
	}
	sorted := slices.Clone(sessions)
	slices.SortStableFunc(sorted, func(a, b api.Session) int {
		return cmp.Or(rank[a.ID]-rank[b.ID], strings.Compare(Label(a), Label(b)))
	})
	return sorted, err
}

// attachedBefore returns the live session of l that was attached last, or for
// "-" before the last. It asks sessions for their states, one after the other.
func (l List) attachedBefore(ctx context.Context, c *cli.CLI, arg string, ids []string) (api.Session, error) {
	if arg == "-" {
		ids = ids[min(1, len(ids)):]
	}
	for _, id := range ids {
		at := slices.IndexFunc(l.Sessions, func(s api.Session) bool { return s.ID == id })
		if at < 0 {
			continue
		}
		one := l.Sessions[at : at+1]
		if refresh(ctx, c, one, l.labels()); !one[0].State.Ended() {
			return one[0], nil
		}
	}
	if arg == "-" {
		return api.Session{}, errors.New("no session that was attached before the last one runs; name one: `middleman ls --sessions` lists them")
	}
	return api.Session{}, errors.New("no session that was attached runs; name one: `middleman ls --sessions` lists them")
}

// severalError says that a workspace has several live sessions, so that its name
// does not tell which is meant.
type severalError struct {
	Workspace api.Workspace
	Live      []api.Session
}

// Error names the sessions.
func (e *severalError) Error() string {
	return fmt.Sprintf("workspace %s has several sessions%s", e.Workspace.Label, naming(e.Live))
}

// lastUsed returns the session that comes first in ids, else a shell, else the
// first, and the other ones.
func (e *severalError) lastUsed(ids []string) (s api.Session, others []api.Session) {
	rank := func(s api.Session) int {
		if at := slices.Index(ids, s.ID); at >= 0 {
			return at
		}
		if len(s.Argv) == 1 && strings.HasSuffix(filepath.Base(s.Argv[0]), "sh") {
			return len(ids)
		}
		return len(ids) + 1
	}
	sorted := slices.Clone(e.Live)
	slices.SortStableFunc(sorted, func(a, b api.Session) int { return rank(a) - rank(b) })
	return sorted[0], sorted[1:]
}

// live returns those of the sessions that have not ended.
func live(sessions []api.Session) []api.Session {
	return slices.DeleteFunc(slices.Clone(sessions), func(s api.Session) bool { return s.State.Ended() })
}
