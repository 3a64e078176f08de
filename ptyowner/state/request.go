package state

import (
	"encoding/json"
	"syscall"

	"middleman/terminal"
)

// ReportFD is the descriptor on which an owner writes its StartReport. StartLockFD is
// that of start.lock, which the owner closes once it holds owner.lock: so one of the two
// is held all the time, even if the starter is killed. ExecutableFD is the descriptor of
// its executable, if the starter executed it by descriptor and not by path.
const (
	ReportFD     = 3
	StartLockFD  = 4
	ExecutableFD = 5
)

// StartRequest is what a starter sends to its owner, as JSON on standard input.
type StartRequest struct {
	Spec   terminal.Spec `json:"spec"`
	Dir    string        `json:"state_dir"`
	Socket string        `json:"socket"`
	Build  string        `json:"build"`
	// Core is the program's soft limit of core files. The starter has set its
	// own limit, which the owner inherits, to 0. nil if the starter did not
	// send one.
	Core *uint64 `json:"core_limit,omitempty"`
	// Host is the name of the host; "" is the PTY. HostConfig is what the
	// host's code in the starter passes to its code in the owner.
	Host       string          `json:"host,omitempty"`
	HostConfig json.RawMessage `json:"host_config,omitempty"`
}

// StartReport is the owner's answer, as JSON on descriptor ReportFD: PID if the
// program runs, otherwise the Step that failed and its Error.
type StartReport struct {
	PID   int           `json:"pid,omitempty"`
	Step  string        `json:"step,omitempty"`
	Error string        `json:"error,omitempty"`
	Errno syscall.Errno `json:"errno,omitempty"` // the cause, if it is a system error
	Host  bool          `json:"host,omitempty"`  // the value for terminal.StartError.Host
}
