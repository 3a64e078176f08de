package store

import (
	"context"
	"fmt"
)

// plainID holds for the ids that lists give: those that are a name of their
// own wherever they become part of a path. Ours all are; a row that somebody
// else has written may be anything, and stops no list.
const plainID = `id <> '' AND id NOT GLOB '*[^0-9A-Za-z_-]*'`

// BadRows names the rows that no list gives, because their ids are none. They
// are for somebody to look at, and to remove with care.
func (s *Store) BadRows(ctx context.Context) (names []string, err error) {
	for _, table := range []string{"workspaces", "sessions", "deleted_workspaces"} {
		ids, err := collect(ctx, s.read, scanID, `SELECT id FROM `+table+` WHERE NOT (`+plainID+`) ORDER BY id`)
		if err != nil {
			return nil, fmt.Errorf("look for damaged rows: %w", err)
		}
		for _, id := range ids {
			names = append(names, fmt.Sprintf("%s, id %q", table, id))
		}
	}
	return names, nil
}
