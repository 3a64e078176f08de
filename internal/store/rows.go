package store

import (
	"context"
	"fmt"
)

// plainID is the SQL condition for an id that is safe as a component of a path.
// All ids that middleman makes are. Another program may have written a row with a
// different id; lists leave it out.
const plainID = `id <> '' AND id NOT GLOB '*[^0-9A-Za-z_-]*'`

// BadRows returns the table and id of each row that lists leave out because its
// id is not valid. The user must look at them and remove them.
func (s *Store) BadRows(ctx context.Context) (names []string, err error) {
	for _, table := range []string{"workspaces", "sessions", "deleted_workspaces", "deleted_sessions"} {
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
