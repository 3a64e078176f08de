package state

import "middleman/internal/proc"

// StrayProcesses finds none: this system does not show environments, so the
// processes that a killed owner left cannot be found.
func (Dir) StrayProcesses() (found []proc.Process, sure bool, err error) { return nil, true, nil }
