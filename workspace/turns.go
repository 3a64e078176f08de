package workspace

import (
	"context"
	"sync"
)

// turns lets the deletes in one repository follow one another. Each asks what of a
// workspace is nowhere else: two at once would each count on the branch of the other.
type turns struct {
	mu   sync.Mutex
	busy map[string]chan struct{} // closed when the delete is over, by git directory
}

// take waits for the turn of a delete in the repository with that git directory, or until
// ctx ends. The caller calls done when the delete is over.
func (t *turns) take(ctx context.Context, gitDir string) (done func(), err error) {
	for {
		t.mu.Lock()
		before := t.busy[gitDir]
		if before == nil {
			defer t.mu.Unlock()
			if t.busy == nil {
				t.busy = map[string]chan struct{}{}
			}
			mine := make(chan struct{})
			t.busy[gitDir] = mine
			return func() {
				t.mu.Lock()
				defer t.mu.Unlock()
				delete(t.busy, gitDir)
				close(mine)
			}, nil
		}
		t.mu.Unlock()
		select {
		case <-before:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}
