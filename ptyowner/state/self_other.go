//go:build !linux

package state

import (
	"errors"
	"os"
)

// processStart is not told here.
func processStart(int) string { return "" }

// runningImage: this system does not say which file a process executes.
func runningImage() string { return "" }

func imageOf(os.FileInfo) string { return "" }

// statProgram: this system does not say which file a process executes.
func statProgram(int) (os.FileInfo, error) { return nil, errors.ErrUnsupported }
