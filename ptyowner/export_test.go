//go:build unix

package ptyowner

import "time"

// SetStallTime is for owners that are this test binary.
func SetStallTime(d time.Duration) { stallTime = d }
