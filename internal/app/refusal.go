package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/approve/queue"
	"middleman/internal/bundle"
	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/plainfile"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Refusal is an error in the form that a client gets.
type Refusal struct {
	Code     string          // stable, one of api.Code…
	Detail   string          // what was tried on what, why it failed, and what to do
	Lost     *workspace.Loss // the work that would be lost, for api.CodeWorkWouldLose
	Sessions []api.Session   // the running sessions that are the reason
	Workers  []api.Worker    // the workers that are the reason
	Files    []string        // the files that are the reason of a refused merge
	Field    string          // the part of a bundle that is at fault
	// Conflict says that the request is valid but the present state forbids it.
	// It is set where the code alone does not tell that.
	Conflict bool
	// Err is the error that the refusal was made from, or nil.
	Err error
}

// Error returns the detail.
func (r *Refusal) Error() string { return r.Detail }

// Unwrap returns Err.
func (r *Refusal) Unwrap() error { return r.Err }

// Refusef returns a refusal whose detail is format with args (package fmt).
func Refusef(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Detail: fmt.Sprintf(format, args...)}
}

// known maps the errors that callers branch on to their codes. The first match
// counts.
var known = []struct {
	is   error
	code string
}{
	{ErrStopping, api.CodeStopping},
	{store.ErrNotFound, api.CodeNotFound},
	{store.ErrNameTaken, api.CodeNameTaken},
	{store.ErrBadCursor, api.CodeBadRequest},
	{store.ErrNoPorts, api.CodeNoPorts},
	{store.ErrKeyReused, api.CodeKeyReused},
	{store.ErrKeyBusy, api.CodeKeyBusy},
	{workspace.ErrBadSnapshot, api.CodeBadSnapshot},
	{workspace.ErrDamagedSnapshot, api.CodeBadSnapshot},
	{workspace.ErrBadName, api.CodeBadName},
	{workspace.ErrNotRepository, api.CodeNotRepository},
	{workspace.ErrForeign, api.CodeForeign},
	{workspace.ErrNoCommits, api.CodeNoCommits},
	{workspace.ErrBadBase, api.CodeBadBase},
	{workspace.ErrFetch, api.CodeFetch},
	{workspace.ErrEscapes, api.CodeEscapes},
	{workspace.ErrLeavesScope, api.CodeLeavesScope},
	{workspace.ErrBranchTaken, api.CodeBranchTaken},
	{workspace.ErrUnsafeBase, api.CodeUnsafeBase},
	{workspace.ErrBadRequest, api.CodeBadRequest},
	{workspace.ErrNotLeft, api.CodeNotLeft},
	{workspace.ErrStays, api.CodeBusy},
	{workspace.ErrMoved, api.CodeMoved},
	{workspace.ErrUncommitted, api.CodeUncommitted},
	{workspace.ErrConflict, api.CodeConflict},
	{workspace.ErrInUse, api.CodeInUse},
	{workspace.ErrCommitted, api.CodeBusy},
	{workspace.ErrRejected, api.CodeRejected},
	{workspace.ErrPush, api.CodePushFailed},
	{workspace.ErrNothingToCompare, api.CodeNothingToCompare},
	{workspace.ErrNotKept, api.CodeNotKept},
	{workspace.ErrNoSnapshot, api.CodeNoSnapshot},
	{workspace.ErrOccupied, api.CodeOccupied},
	{workspace.ErrReplaced, api.CodeReplaced},
	{git.ErrHeldUp, api.CodeHeldUp},
	{git.ErrElsewhere, api.CodeGitReplaced},
	{plainfile.ErrRefused, api.CodeUnreadable},
	{workspace.ErrUnknown, api.CodeUnknownLoss},
	{workspace.ErrMissing, api.CodeMissing}, // after ErrUnknown: some errors are both
	{terminal.ErrNotFound, api.CodeNotFound},
	{terminal.ErrGone, api.CodeEnded},
	{terminal.ErrEnded, api.CodeEnded},
	{terminal.ErrRunning, api.CodeSessionsRun},
	{terminal.ErrRange, api.CodeRange},
	{agent.ErrDialog, api.CodeDialog},
	{terminal.ErrChanged, api.CodeChanged},
	{agent.ErrLines, api.CodeUnsupported},
	{terminal.ErrTooLong, api.CodeTooLarge},
	{terminal.ErrTooManyViewers, api.CodeTooManyView},
	{queue.ErrNotShown, api.CodeNotShown},
	{queue.ErrOther, api.CodeKeyReused},
	{errors.ErrUnsupported, api.CodeUnsupported},
	{context.DeadlineExceeded, api.CodeUnreachable},
	{context.Canceled, api.CodeStopping},
}

// ofBundles maps the kinds of errors about bundles to their codes.
var ofBundles = map[error]string{
	bundle.ErrInvalid:     api.CodeBundleInvalid,
	bundle.ErrMissing:     api.CodeBundleMissing,
	bundle.ErrDigest:      api.CodeBundleDigest,
	bundle.ErrProfile:     api.CodeBundleProfile,
	bundle.ErrUnsupported: api.CodeBundleDeclared,
	bundle.ErrChanged:     api.CodeBundleChanged,
	bundle.ErrInUse:       api.CodeBundleInUse,
	bundle.ErrStore:       api.CodeBundleStore,
	bundle.ErrRefused:     api.CodeRefusedGrant,
	bundle.ErrSecret:      api.CodeSecret,
}

// logged are the codes of errors that are not the client's fault. Explain logs
// these.
var logged = map[string]bool{api.CodeStopping: true, api.CodeFetch: true, api.CodeTooManyView: true, api.CodeUnreachable: true}

// sessionError is an error with the name of the session that it concerns.
type sessionError struct {
	name string
	err  error
}

func (e *sessionError) Error() string { return fmt.Sprintf("session %s: %v", e.name, e.err) }
func (e *sessionError) Unwrap() error { return e.err }

// noAnswer is the text that a client gets about a session that does not answer.
// The error itself names the server's own sockets, so only the log has it.
const noAnswer = " does not answer: it may still be running, so nothing was changed"

// InternalDetail is the detail that a client gets for an unexpected error.
const InternalDetail = "internal error; the server's log says more"

// Explain turns an error into the refusal for the client. It logs an error that
// it does not know, and the client gets InternalDetail.
func (s *App) Explain(err error) *Refusal {
	if r, ok := errors.AsType[*Refusal](err); ok {
		return r
	}
	r := typedRefusal(err)
	if r != nil {
		r.Detail = s.redact(r.Detail)
		return r
	}
	r = &Refusal{Code: api.CodeInternal, Detail: InternalDetail, Err: err}
	if errors.Is(err, terminal.ErrUnreachable) {
		s.Log.Warn("session does not answer", "error", err)
		r.Code, r.Detail = api.CodeUnreachable, "the session"+noAnswer
		if e, ok := errors.AsType[*sessionError](err); ok {
			r.Detail = "session " + e.name + noAnswer
		}
		return r
	}
	if diskFull(err) {
		s.Log.Error("request", "error", err)
		r.Code, r.Detail = api.CodeDiskFull, "no space left on device ("+s.redact(err.Error())+")"
		return r
	}
	for _, k := range known {
		if errors.Is(err, k.is) {
			if logged[k.code] {
				s.Log.Warn("request was not answered", "error", err)
			}
			// That a request is bad says nothing that the reason does not.
			text := strings.TrimSuffix(err.Error(), ": "+workspace.ErrBadRequest.Error())
			r.Code, r.Detail = k.code, s.redact(text)
			if e, ok := errors.AsType[*workspace.FilesError](err); ok {
				r.Files = e.Files
			}
			return r
		}
	}
	return s.explainFault(err, r)
}

// explainFault is Explain for an unexpected error of the server or of git.
func (s *App) explainFault(err error, r *Refusal) *Refusal {
	if e, ok := errors.AsType[*contain.PanicError](err); ok {
		s.Log.Error("request", "error", err, "stack", string(e.Stack))
		r.Detail = s.redact(err.Error())
		return r
	}
	if _, ok := errors.AsType[*git.Error](err); ok {
		s.Log.Warn("git failed", "error", err)
		r.Code, r.Detail = api.CodeGitFailed, s.redact(err.Error())
		return r
	}
	if s.isOfUser(err) {
		s.Log.Warn("request", "error", err)
		r.Code, r.Detail = api.CodeUnreadable, s.redact(err.Error())
		return r
	}
	if e, ok := errors.AsType[*panicError](err); ok {
		s.logPanic("request", e)
	} else {
		s.Log.Error("request", "error", err)
	}
	return r
}

// isOfUser reports whether err is the system's error for a file or directory
// that is not part of our own state: the user named it, or has it in a workspace
// or a repository.
func (s *App) isOfUser(err error) bool {
	var paths []string
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		paths = []string{e.Path}
	} else if e, ok := errors.AsType[*os.LinkError](err); ok {
		paths = []string{e.Old, e.New}
	}
	d := s.Dirs
	for _, path := range paths {
		for _, ours := range []string{d.Data, d.Config, d.Runtime, d.Sockets()} {
			below, err := filepath.Rel(ours, path)
			workspaces, _ := filepath.Rel(d.Workspaces(), path) // "" is local to nothing
			if err == nil && filepath.IsLocal(below) && !filepath.IsLocal(workspaces) {
				return false
			}
		}
	}
	return len(paths) > 0
}

// typedRefusal explains the error types that carry data. It returns nil for all
// other errors.
func typedRefusal(err error) *Refusal {
	of := func(code string, said error) *Refusal { return &Refusal{Code: code, Detail: said.Error(), Err: err} }
	if e, ok := errors.AsType[*workspace.WorkError](err); ok {
		r := of(api.CodeWorkWouldLose, e)
		r.Lost = &e.Loss
		return r
	}
	if e, ok := errors.AsType[*bundle.Error](err); ok {
		r := of(ofBundles[e.Kind], e)
		r.Field = e.Field
		return r
	}
	if e, ok := errors.AsType[*queue.AnsweredError](err); ok {
		return of(api.CodeAnswered, e)
	}
	if e, ok := errors.AsType[*queue.ChangedError](err); ok {
		return of(api.CodeRequestChanged, e)
	}
	if e, ok := errors.AsType[*setupError](err); ok {
		return of(e.code(), e)
	}
	if e, ok := errors.AsType[*terminal.StartError](err); ok {
		return of(api.CodeStartFailed, e)
	}
	if e, ok := errors.AsType[*terminal.BusyError](err); ok {
		return of(api.CodeWriterBusy, e)
	}
	if e, ok := errors.AsType[*terminal.TrimmedError](err); ok {
		return of(api.CodeTrimmed, e)
	}
	if _, _, ok := terminal.Gap(err); ok {
		return of(api.CodeTrimmed, err)
	}
	if e, ok := errors.AsType[*terminal.NotReadError](err); ok {
		return of(api.CodeNotRead, e)
	}
	if e, ok := errors.AsType[*agent.NotSubmittedError](err); ok {
		return of(api.CodeNotSubmitted, e)
	}
	if e, ok := errors.AsType[*terminal.LeftoverError](err); ok {
		return of(api.CodeInternal, e)
	}
	return nil
}

// diskFull reports whether err came from a full disk. Of an error in git there
// is only the text.
func diskFull(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || store.IsFull(err) {
		return true
	}
	failed, ok := errors.AsType[*git.Error](err)
	return ok && strings.Contains(failed.Stderr, "No space left on device")
}

// redact replaces the paths of the server's own state in a text for a client,
// and makes the text plain (terminal.Plain). Those of workspaces stay.
func (s *App) redact(text string) string {
	if !strings.ContainsAny(text, `/\`) {
		return terminal.Plain(text) // most texts of a list are empty
	}
	d := s.Dirs
	home, _ := os.UserHomeDir() // without one no path begins with "~"
	var pairs []string
	for _, own := range []struct{ path, word string }{
		{d.Workspaces(), ""}, {d.Sessions(), "(sessions)"}, {d.Database(), "(database)"}, {d.ServerLock(), "(lock)"},
		{d.Runtime, "(runtime)"}, {d.Sockets(), "(sockets)"}, {d.Config, "(config)"}, {d.Data, "(data)"},
	} {
		names := []string{own.path}
		if real, err := filepath.EvalSymlinks(own.path); err == nil && real != own.path {
			names = append(names, real)
		}
		if below, err := filepath.Rel(home, own.path); home != "" && err == nil && filepath.IsLocal(below) && below != "." {
			names = append(names, "~/"+below)
		}
		for _, name := range names {
			pairs = append(pairs, name, cmp.Or(own.word, name))
		}
	}
	return terminal.Plain(strings.NewReplacer(pairs...).Replace(text))
}
