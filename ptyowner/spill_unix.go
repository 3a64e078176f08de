//go:build unix

package ptyowner

import (
	"io"
	"os"

	"middleman/internal/fault"
	"middleman/ptyowner/state"
)

// spill is where the screen keeps its scrollback instead of in memory: a file
// in the state directory that has no name, so that it goes with the owner. It
// is made when it is first written to.
type spill struct {
	dir  state.Dir
	file *os.File
}

// WriteAt is an error where the disk is full, or nothing can be made on it; the
// screen keeps what it has then.
func (s *spill) WriteAt(p []byte, at int64) (int, error) {
	if err := fault.Error("spill/write"); err != nil {
		return 0, err
	}
	if s.file == nil {
		file, err := os.CreateTemp(s.dir.Path, ".scrollback-*") // 0600
		if err != nil {
			return 0, err
		}
		if err := os.Remove(file.Name()); err != nil {
			file.Close()
			return 0, err
		}
		s.file = file
	}
	return s.file.WriteAt(p, at)
}

func (s *spill) ReadAt(p []byte, at int64) (int, error) {
	if s.file == nil {
		return 0, io.EOF
	}
	return s.file.ReadAt(p, at)
}
