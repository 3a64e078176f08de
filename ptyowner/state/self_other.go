//go:build !linux

package state

import (
	"errors"
	"os"
)

// runningImage returns "": this system does not tell which file a process
// executes.
func runningImage() string { return "" }

func imageOf(os.FileInfo) string { return "" }

// statProgram fails: this system does not tell which file a process executes.
func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }
