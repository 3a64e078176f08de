package store

import (
	"context"
	"database/sql"
	"fmt"
)

// PortRange says which TCP ports a workspace gets: Count consecutive ports
// between First and Last, both included.
type PortRange struct{ First, Last, Count int }

// AllocatePorts gives the workspace r.Count consecutive ports, and returns the
// first. No other workspace has them, and free has returned true for each. The
// workspace keeps the ports that it has if they are r.Count and meet both
// conditions. If there are no such ports, it loses those that it has, and the
// error is ErrNoPorts. If there is no such workspace, it is ErrNotFound. free is
// called within the transaction, so it must be quick.
func (s *Store) AllocatePorts(ctx context.Context, id string, r PortRange, free func(port int) bool) (int, error) {
	var first int
	err := s.inTransaction(ctx, func(tx *sql.Tx) error {
		var own portBlock
		err := tx.QueryRowContext(ctx, `SELECT port, ports FROM workspaces WHERE id = ?`, id).Scan(&own.port, &own.ports)
		if err != nil {
			return notFound(err)
		}
		taken, err := collect(ctx, tx, scanBlock, `SELECT port, ports FROM workspaces WHERE ports > 0 AND id <> ? ORDER BY port`, id)
		if err != nil {
			return err
		}
		first = choosePorts(r, own, taken, free)
		count := r.Count
		if first == 0 {
			count = 0
		}
		_, err = tx.ExecContext(ctx, `UPDATE workspaces SET port = ?, ports = ? WHERE id = ?`, first, count, id)
		return err
	})
	switch {
	case err != nil:
		return 0, fmt.Errorf("allocate ports: %w", err)
	case first == 0:
		return 0, fmt.Errorf("%d ports in a row between %d and %d: %w", r.Count, r.First, r.Last, ErrNoPorts)
	}
	return first, nil
}

// portBlock is a block of consecutive ports: their number is ports, the first is
// port.
type portBlock struct{ port, ports int }

func scanBlock(row scanner) (portBlock, error) {
	var b portBlock
	err := row.Scan(&b.port, &b.ports)
	return b, err
}

func (b portBlock) overlaps(other portBlock) bool {
	return b.port < other.port+other.ports && other.port < b.port+b.ports
}

// choosePorts returns the first port of a free block, or 0 if there is none. It
// prefers the workspace's own block.
func choosePorts(r PortRange, own portBlock, taken []portBlock, free func(int) bool) int {
	if r.Count <= 0 {
		return 0
	}
	if own.ports == r.Count && blocked(own, taken, free) == 0 {
		return own.port
	}
	for b := (portBlock{r.First, r.Count}); b.port+b.ports-1 <= r.Last; {
		next := blocked(b, taken, free)
		if next == 0 {
			return b.port
		}
		b.port = next
	}
	return 0
}

// blocked returns 0 if b is free, else the first port after what b conflicts
// with.
func blocked(b portBlock, taken []portBlock, free func(int) bool) int {
	for _, other := range taken {
		if b.overlaps(other) {
			return other.port + other.ports
		}
	}
	for port := b.port; port < b.port+b.ports; port++ {
		if !free(port) {
			return port + 1
		}
	}
	return 0
}
