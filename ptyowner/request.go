package ptyowner

import (
	"encoding/json"
	"syscall"

	"middleman/terminal"
)

// executableFD is the descriptor that a helper has its own executable at, where
// that is not executed by its path.
const executableFD = 4

// startRequest is what a starter hands to its owner.
type startRequest struct {
	Spec   terminal.Spec `json:"spec"`
	Dir    string        `json:"state_dir"`
	Socket string        `json:"socket"`
	Build  string        `json:"build"`
	// Core is the soft limit of core files that the program gets: the starter's
	// own, and so the owner's, may be 0. nil where the starter does not say.
	Core *uint64 `json:"core_limit,omitempty"`
	// Host names the host; "" is the PTY. HostConfig is what its side of the
	// starter tells the other.
	Host       string          `json:"host,omitempty"`
	HostConfig json.RawMessage `json:"host_config,omitempty"`
}

// startReport is what the owner answers.
type startReport struct {
	PID   int           `json:"pid,omitempty"`
	Step  string        `json:"step,omitempty"`
	Error string        `json:"error,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"` // the cause, where it is the system's
	Host  bool          `json:"host,omitempty"`  // it is terminal.StartError's
}
