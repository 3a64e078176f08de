package catalog

import (
	"context"
	"errors"
	"io/fs"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/bundle/library"
	"middleman/internal/store"
)

// withLibrary calls f with the bundles of the database, whether a server runs or not. It
// does nothing if there is no database.
func withLibrary(ctx context.Context, c *cli.CLI, f func(*store.Store, *library.Library) error) error {
	db, err := store.OpenReadOnly(ctx, c.Dirs.Database())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer db.Close()
	return f(db, &library.Library{Store: db, Profiles: c.Config.Profiles})
}

// NewestBundles returns the newest revision of each bundle with its content.
func NewestBundles(ctx context.Context, c *cli.CLI) (newest []bundle.Bundle, err error) {
	err = withLibrary(ctx, c, func(_ *store.Store, l *library.Library) error {
		list, err := l.List(ctx, store.Page{Limit: -1})
		for _, b := range list.Bundles {
			if err == nil && b.Newest && b.Problem == "" {
				var content bundle.Bundle
				content, err = l.Open(ctx, b.ID, b.Digest)
				newest = append(newest, content)
			}
		}
		return err
	})
	return newest, err
}

// AddBundles adds to sessions the bundles that they were started with, and how these
// have moved since.
func AddBundles(ctx context.Context, c *cli.CLI, sessions []api.Session) error {
	return withLibrary(ctx, c, func(db *store.Store, l *library.Library) error {
		for i := range sessions {
			row, err := db.Session(ctx, sessions[i].ID)
			if errors.Is(err, store.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			sessions[i].Bundle = l.Session(ctx, row.Bundle, true)
		}
		return nil
	})
}
