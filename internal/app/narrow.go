package app

import (
	"cmp"
	"context"
	"fmt"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// rules are what a session may do with its viewer and with the disk. A sandbox has
// rules of its own: its policy.
type rules struct {
	clipboard terminal.Clipboard
	keep      int64 // bytes of output to keep, 0 for all
	sandboxed bool
}

// rulesOf returns the rules of a session that starts a worker. That of an earlier
// build may not say how much output it keeps: then it is what is usual.
func (s *App) rulesOf(ctx context.Context, row store.Session) (rules, error) {
	status, err := s.status(ctx, row)
	if err != nil {
		return rules{}, fmt.Errorf("ask session %s for its rules, which bind its workers: %w", row.Name, err)
	}
	r := rules{clipboard: status.Clipboard, keep: s.JournalBytes, sandboxed: row.Sandbox != nil}
	if status.JournalBytes != nil {
		r.keep = *status.JournalBytes
	}
	return r, nil
}

// narrow returns the request for a worker with rules that are nowhere weaker than its
// parent's, whoever asks: a program in a sandbox asks for its own workers. usual are the
// rules of a session that names none.
//
// A field that is not changed here is one that plan and planSpawn bound by the parent
// (Directory, and in Session: Profile, Bundle, Capabilities, Sandbox, Network), or one
// by which a program gets no more than it has. TestNarrow has each field of both.
func narrow(in api.NewWorker, parent, usual rules) (api.NewWorker, error) {
	if in.Session.Name != "" {
		return in, Refusef(api.CodeBadRequest, "give the worker's name in name, not in session.name")
	}
	if store.Isolation(in.Isolation) == store.IsolationShared {
		in.Session.Name = in.Name
	}
	in.Session.CleanEnv = true
	if parent.sandboxed {
		in.Session.AgentLink = false // keys of the user are unreachable for the parent
		if in.Session.CallerEnv == nil {
			in.Session.CallerEnv = [][]byte{} // nothing of the login, which the parent has not either
		}
	}
	if asked := cmp.Or(in.Session.Clipboard, usual.clipboard, terminal.ClipboardAllow); asked.Known() { // plan refuses others
		in.Session.Clipboard = asked.Stricter(parent.clipboard)
	}
	keep := usual.keep
	if in.Session.KeepOutput != nil {
		keep = *in.Session.KeepOutput
	}
	if parent.keep != 0 && (keep == 0 || keep > parent.keep) {
		keep = parent.keep
	}
	in.Session.KeepOutput = &keep
	return in, nil
}
