package ptyowner

import "time"

// strays: this system has no sessions.
func (stateDir) strays() ([]int, error) { return nil, nil }

// stopStrays: this system has no sessions.
func (stateDir) stopStrays(time.Duration) []int { return nil }
