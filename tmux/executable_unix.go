//go:build unix && !linux

package tmux

import "os"

func executable() (string, error) { return os.Executable() }
