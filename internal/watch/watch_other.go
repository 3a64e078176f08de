//go:build !linux

package watch

import (
	"context"
	"errors"
	"fmt"
)

// Watcher watches nothing on this system.
type Watcher struct{}

// New returns a Watcher that watches nothing.
func New(Limits) *Watcher { return &Watcher{} }

// Arm returns errors.ErrUnsupported.
func (w *Watcher) Arm(context.Context, string, func() (Tree, error)) (Mark, error) {
	return 0, fmt.Errorf("watch directories on this system: %w", errors.ErrUnsupported)
}

// Unchanged reports false.
func (w *Watcher) Unchanged(string, Mark) bool { return false }

// Drop does nothing.
func (w *Watcher) Drop(string) {}

// Close does nothing.
func (w *Watcher) Close() {}
