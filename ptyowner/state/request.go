package state

import (
	"encoding/json"
	"syscall"

	"middleman/terminal"
)

// ExecutableFD is the descriptor at which an owner is handed its own executable,
// where that is not executed by its path. ReportFD is the pipe for its StartReport.
const (
	ReportFD     = 3
	ExecutableFD = 4
)

// StartRequest is what a starter hands to its owner, as JSON on standard input.
type StartRequest struct {
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

// StartReport is what the owner answers, as JSON on descriptor ReportFD: the
// program runs, or Step did not work, because of Error.
type StartReport struct {
	PID   int           `json:"pid,omitempty"`
	Step  string        `json:"step,omitempty"`
	Error string        `json:"error,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"` // the cause, where it is the system's
	Host  bool          `json:"host,omitempty"`  // it is terminal.StartError's
}
