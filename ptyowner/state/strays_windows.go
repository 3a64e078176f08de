package state

import "time"

// Strays returns none: this system has no sessions.
func (Dir) Strays() ([]int, error) { return nil, nil }

// StopStrays does nothing: this system has no sessions.
func (Dir) StopStrays(time.Duration) []int { return nil }
