package runtime

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"middleman/internal/client"
)

// State says whether a remote can be used, as far as is known.
type State string

// The states of a remote.
const (
	Unknown     State = "unknown" // not tried yet
	Reachable   State = "reachable"
	Unreachable State = "unreachable" // no answer, which proves nothing
	Refused     State = "refused"     // it will not do as it is configured
)

// Reason is why a remote cannot be used.
type Reason string

// The reasons; those of Refused need somebody to change something.
const (
	NoAnswer      Reason = "no-answer"
	TimedOut      Reason = "timed-out"
	BadProtocol   Reason = "not-the-protocol"
	TooMuch       Reason = "answer-too-large"
	Older         Reason = "version-older"
	Newer         Reason = "version-newer"
	BadCert       Reason = "certificate"
	BadToken      Reason = "token"
	NoTokenFile   Reason = "token-file"
	BadLogin      Reason = "ssh-login"
	BadHostKey    Reason = "ssh-host-key"
	NewHostKey    Reason = "ssh-host-key-changed"
	NoSSH         Reason = "no-ssh"
	NotInstalled  Reason = "not-installed"
	ServerMissing Reason = "no-server"
)

// reasons has what each reason means to the user.
var reasons = map[Reason]struct {
	state State
	text  string
}{
	NoAnswer:      {Unreachable, "it cannot be reached; its sessions go on if its machine does"},
	TimedOut:      {Unreachable, "it did not answer in time; its sessions go on if its machine does"},
	BadProtocol:   {Unreachable, "what answered does not speak as a middleman server does"},
	TooMuch:       {Unreachable, "it sent more than an answer may have"},
	ServerMissing: {Unreachable, "its middleman could not reach or start a server there"},
	Older:         {Refused, "its middleman is too old for this one: upgrade it there; its sessions go on"},
	Newer:         {Refused, "its middleman is too new for this one: upgrade this machine's"},
	BadCert:       {Refused, "its certificate is not the expected one: compare it there, and add the runtime again with --pin"},
	BadToken:      {Refused, "it does not take the token, or the token's scope does not cover this: make one there with `middleman token create --scope full`"},
	NoTokenFile:   {Refused, "the file with its token cannot be read, is empty, or can be read by others: it must be yours, with mode 0600"},
	BadLogin:      {Refused, "ssh was not let in there without a question: try ssh to that host by hand, with BatchMode=yes"},
	BadHostKey:    {Refused, "ssh does not know the host's key: connect once with ssh by hand"},
	NewHostKey:    {Refused, "the host's key is not the one that ssh knows: the machine was set up anew, or somebody stands between; compare the key there before you accept it with ssh by hand"},
	NoSSH:         {Refused, "the program ssh cannot be run here"},
	NotInstalled:  {Refused, "there is no such program there: `middleman runtime install` puts this one there; where it is not in PATH, add the runtime again with --command"},
}

// Error says why a remote cannot be used. Its text has our words alone.
type Error struct {
	Runtime string
	Reason  Reason
	// Sent says that the request, or a part of it, was sent: what it asks for may have
	// been done.
	Sent bool
	// Cause is for the log. It may name endpoints and paths.
	Cause error
}

func (e *Error) Error() string {
	return fmt.Sprintf("runtime %s: %s", e.Runtime, reasons[e.Reason].text)
}

// State returns the state of the remote.
func (e *Error) State() State { return reasons[e.Reason].state }

// because returns the reason that cause tells by itself, else otherwise.
func because(cause error, otherwise Reason) *Error {
	if e, ok := errors.AsType[*Error](cause); ok {
		return &Error{Reason: e.Reason, Sent: e.Sent, Cause: e.Cause}
	}
	if errors.Is(cause, context.DeadlineExceeded) || errors.Is(cause, os.ErrDeadlineExceeded) {
		otherwise = TimedOut
	}
	return &Error{Reason: otherwise, Sent: errors.Is(cause, client.ErrUnanswered), Cause: cause}
}

// Status is what is known of a remote, since when, and as of when.
type Status struct {
	State   State
	Reason  Reason // why, unless the state is Unknown or Reachable
	Text    string
	Version string // of the remote, once it has answered
	Since   time.Time
	Checked time.Time // of the last call that told; zero for none
}
