package catalog

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/store"
)

// Elsewhere asks the server for what the remote runtimes have, and returns at once.
// The function that it returns waits for the answer. That says on c.Errs which
// runtimes have not answered, and how old their lists are. No server is started:
// where none runs it says which runtimes are not listed.
func Elsewhere(ctx context.Context, c *cli.CLI) (wait func() (List, error)) {
	type answer struct {
		list List
		err  error
	}
	answered := make(chan answer, 1)
	go func() {
		list, err := askElsewhere(ctx, c)
		answered <- answer{list, err}
	}()
	return func() (List, error) {
		a := <-answered
		if a.err != nil {
			return List{}, elsewhereUnknown(ctx, c, a.err)
		}
		for _, r := range a.list.Runtimes {
			if !r.Current {
				fmt.Fprintln(c.Errs, "middleman:", Absent(r))
			}
		}
		return a.list, nil
	}
}

func askElsewhere(ctx context.Context, c *cli.CLI) (list List, err error) {
	ask := func(ctx context.Context, server *client.Client) (err error) {
		list, err = OfRuntimes(ctx, server)
		return err
	}
	if atOnce(ctx, c, elsewhereTimeout, ask) == nil {
		return list, nil
	}
	server, err := client.Connect(ctx, c.Dirs)
	if err != nil {
		return List{}, err
	}
	defer server.Close()
	return list, ask(ctx, server)
}

// elsewhereUnknown says which runtimes are not listed because of err. What it
// returns is not said yet: it is nil if no server runs.
func elsewhereUnknown(ctx context.Context, c *cli.CLI, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	names, unread := runtimeNames(ctx, c)
	if len(names) > 0 {
		fmt.Fprintf(c.Errs, "middleman: not listed, because no server answers here: what is on %s; `middleman server start` starts one\n", strings.Join(names, ", "))
	}
	if errors.Is(err, client.ErrNoServer) {
		err = nil
	}
	return errors.Join(err, unread)
}

// runtimeNames reads the names of the runtimes from the database.
func runtimeNames(ctx context.Context, c *cli.CLI) (names []string, err error) {
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.Runtimes(ctx)
	for _, r := range rows {
		names = append(names, r.Name)
	}
	return names, err
}

// OfRuntimes lists what the remote runtimes of a server have.
func OfRuntimes(ctx context.Context, server *client.Client) (list List, err error) {
	all, err := server.Overview(ctx)
	for _, r := range all {
		of := List{Workspaces: r.Workspaces, Sessions: r.Sessions}.on(r.Runtime.Name)
		of.Runtimes = []api.RuntimeAnswer{r.RuntimeAnswer}
		list = list.Join(of)
	}
	return list, err
}

// Absent says why a runtime has not told its lists, and how old those are.
func Absent(r api.RuntimeAnswer) string {
	text := "it has not answered yet"
	if r.Runtime.Detail != "" {
		text = r.Runtime.Detail
	}
	if r.AsOf != nil {
		text += "; what is listed of it is as of " + cli.Age(*r.AsOf) + " ago"
	}
	return "runtime " + r.Runtime.Name + ": " + text
}

// Join returns a list of what both have, first of l and then of more.
func (l List) Join(more List) List {
	l.Workspaces = slices.Concat(l.Workspaces, more.Workspaces)
	l.Sessions = slices.Concat(l.Sessions, more.Sessions)
	l.Runtimes = slices.Concat(l.Runtimes, more.Runtimes)
	return l
}
