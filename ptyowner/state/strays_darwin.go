package state

import "middleman/internal/proc"

// StrayProcesses finds none: this system shows no environments; what an owner that was
// killed left behind is not found.
func (Dir) StrayProcesses() (found []proc.Process, sure bool, err error) { return nil, true, nil }
