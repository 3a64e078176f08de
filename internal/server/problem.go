package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/contain"
	"middleman/internal/git"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/workspace"
)

// Problem is what every error of the API is answered with.
type Problem struct {
	api.Problem
}

// GetStatus makes it a huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType is that of RFC 9457.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// huma makes its own errors (a body that does not fit its schema, say) by
// these variables; they are the only way to have one shape of error.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return newProblem(status, codeOf(status), describe(msg, errs))
	}
}

// newProblem is the one constructor; every problem has all members.
func newProblem(status int, code, detail string) *Problem {
	return &Problem{api.Problem{
		Type:   "urn:middleman:problem:" + code,
		Title:  http.StatusText(status),
		Status: status,
		Detail: detail,
		Code:   code,
	}}
}

func problemf(status int, code, format string, args ...any) *Problem {
	return newProblem(status, code, fmt.Sprintf(format, args...))
}

// codeOf is for problems that only have a status.
func codeOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return api.CodeUnauthorized
	case status == http.StatusForbidden:
		return api.CodeForbidden
	case status == http.StatusNotFound:
		return api.CodeNotFound
	case status == http.StatusRequestEntityTooLarge:
		return codeTooLarge
	case status >= 500 || status == 0:
		return api.CodeInternal
	}
	return api.CodeBadRequest
}

// describe joins what huma found wrong. It leaves out the values, which may
// be secrets.
func describe(msg string, errs []error) string {
	parts := []string{}
	for _, err := range errs {
		if d, ok := errors.AsType[*huma.ErrorDetail](err); ok {
			parts = append(parts, strings.TrimPrefix(d.Location+": "+d.Message, ": "))
		} else if err != nil {
			parts = append(parts, err.Error())
		}
	}
	if len(parts) == 0 {
		return msg
	}
	return msg + ": " + strings.Join(parts, "; ")
}

// Codes that only this package uses; stable like the others.
const (
	codeTooLarge    = "too-large"
	codeStopping    = "stopping"
	codeBusy        = "busy"
	codeKeyReused   = "idempotency-key-reused"
	codeKeyBusy     = "idempotency-key-busy"
	codeRange       = "beyond-output"
	codeTooManyView = "too-many-viewers"
	codeUnsafeBase  = "unsafe-base"
	codeMissing     = "directory-missing"
	codeDiskFull    = "disk-full"
	codeNotKept     = "not-kept"
	codeNoSnapshot  = "no-snapshot"
	codeBadSnapshot = "bad-snapshot"
	codeHeldUp      = "held-up"
	codeOccupied    = "place-taken"
	codeFetch       = "fetch-failed"
	codeForeign     = "foreign-repository"
	codeGitFailed   = "git-failed"
	codeLeavesScope = "leaves-scope"
	codeNoPorts     = "no-ports"
	codeNotLeft     = "not-left-over"
	codeMoved       = "moved"
	codeReplaced    = "directory-replaced"
)

// answers maps what callers branch on to a status and a code. The first that
// matches counts.
var answers = []struct {
	is     error
	status int
	code   string
}{
	{errStopping, http.StatusServiceUnavailable, codeStopping},
	{store.ErrNotFound, http.StatusNotFound, api.CodeNotFound},
	{store.ErrNameTaken, http.StatusConflict, api.CodeNameTaken},
	{store.ErrBadCursor, http.StatusBadRequest, api.CodeBadRequest},
	{store.ErrNoPorts, http.StatusConflict, codeNoPorts},
	{store.ErrKeyReused, http.StatusUnprocessableEntity, codeKeyReused},
	{store.ErrKeyBusy, http.StatusConflict, codeKeyBusy},
	{workspace.ErrBadSnapshot, http.StatusConflict, codeBadSnapshot},
	{workspace.ErrDamagedSnapshot, http.StatusConflict, codeBadSnapshot},
	{workspace.ErrBadName, http.StatusUnprocessableEntity, api.CodeBadName},
	{workspace.ErrNotRepository, http.StatusUnprocessableEntity, api.CodeNotRepository},
	{workspace.ErrForeign, http.StatusUnprocessableEntity, codeForeign},
	{workspace.ErrNoCommits, http.StatusUnprocessableEntity, api.CodeNoCommits},
	{workspace.ErrBadBase, http.StatusUnprocessableEntity, api.CodeBadBase},
	{workspace.ErrFetch, http.StatusBadGateway, codeFetch},
	{workspace.ErrEscapes, http.StatusUnprocessableEntity, api.CodeEscapes},
	{workspace.ErrLeavesScope, http.StatusUnprocessableEntity, codeLeavesScope},
	{workspace.ErrBranchTaken, http.StatusConflict, api.CodeBranchTaken},
	{workspace.ErrUnsafeBase, http.StatusConflict, codeUnsafeBase},
	{workspace.ErrBadRequest, http.StatusUnprocessableEntity, api.CodeBadRequest},
	{workspace.ErrNotLeft, http.StatusConflict, codeNotLeft},
	{workspace.ErrMoved, http.StatusConflict, codeMoved},
	{workspace.ErrNothingToCompare, http.StatusUnprocessableEntity, codeNothingToCompare},
	{workspace.ErrNotKept, http.StatusConflict, codeNotKept},
	{workspace.ErrNoSnapshot, http.StatusConflict, codeNoSnapshot},
	{workspace.ErrOccupied, http.StatusConflict, codeOccupied},
	{workspace.ErrReplaced, http.StatusConflict, codeReplaced},
	{git.ErrHeldUp, http.StatusConflict, codeHeldUp},
	{workspace.ErrUnknown, http.StatusConflict, api.CodeUnknownLoss},
	{workspace.ErrMissing, http.StatusConflict, codeMissing}, // a missing one of which nothing is known is the above
	{terminal.ErrNotFound, http.StatusNotFound, api.CodeNotFound},
	{terminal.ErrGone, http.StatusGone, api.CodeEnded},
	{terminal.ErrEnded, http.StatusConflict, api.CodeEnded},
	{terminal.ErrRunning, http.StatusConflict, api.CodeSessionsRun},
	{terminal.ErrRange, http.StatusRequestedRangeNotSatisfiable, codeRange},
	{terminal.ErrTooManyViewers, http.StatusServiceUnavailable, codeTooManyView},
	{errors.ErrUnsupported, http.StatusUnprocessableEntity, api.CodeUnsupported},
	{context.DeadlineExceeded, http.StatusServiceUnavailable, api.CodeUnreachable},
	{context.Canceled, http.StatusServiceUnavailable, codeStopping},
}

// sessionError says which of a workspace's sessions an error is of.
type sessionError struct {
	name string
	err  error
}

func (e *sessionError) Error() string { return fmt.Sprintf("session %s: %v", e.name, e.err) }
func (e *sessionError) Unwrap() error { return e.err }

// noAnswer is all that a client learns of a session that does not answer;
// why is in terms of sockets, which are ours.
const noAnswer = " does not answer, which proves nothing: it was not touched"

// problem turns an error into what the client is told: the one place that
// chooses statuses and codes. An error that it does not know is logged, and
// the client learns only that it happened.
func (s *Server) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	if p := typedProblem(err); p != nil {
		p.Detail = s.redact(p.Detail)
		return p
	}
	if errors.Is(err, terminal.ErrUnreachable) {
		s.Log.Warn("session does not answer", "error", err)
		which := "the session"
		if e, ok := errors.AsType[*sessionError](err); ok {
			which = "session " + e.name
		}
		return newProblem(http.StatusServiceUnavailable, api.CodeUnreachable, which+noAnswer)
	}
	if diskFull(err) {
		s.Log.Error("request", "error", err)
		return newProblem(http.StatusInsufficientStorage, codeDiskFull, "no space left on device ("+s.redact(err.Error())+")")
	}
	for _, a := range answers {
		if errors.Is(err, a.is) {
			if a.status >= 500 {
				s.Log.Warn("request was not answered", "error", err)
			}
			return newProblem(a.status, a.code, s.redact(err.Error()))
		}
	}
	if e, ok := errors.AsType[*contain.PanicError](err); ok {
		s.Log.Error("request", "error", err, "stack", string(e.Stack))
		return newProblem(http.StatusInternalServerError, api.CodeInternal, s.redact(err.Error()))
	}
	if _, ok := errors.AsType[*git.Error](err); ok {
		s.Log.Warn("git failed", "error", err)
		return newProblem(http.StatusInternalServerError, codeGitFailed, s.redact(err.Error()))
	}
	if e, ok := errors.AsType[*panicError](err); ok {
		s.logPanic("request", e)
	} else {
		s.Log.Error("request", "error", err)
	}
	return newProblem(http.StatusInternalServerError, api.CodeInternal, internalDetail)
}

// typedProblem knows the errors that carry more than their kind.
func typedProblem(err error) *Problem {
	if e, ok := errors.AsType[*workspace.WorkError](err); ok {
		p := newProblem(http.StatusConflict, api.CodeWorkWouldLose, e.Error())
		p.Lost = &e.Loss
		return p
	}
	if e, ok := errors.AsType[*setupError](err); ok {
		return newProblem(http.StatusConflict, e.code(), e.Error())
	}
	if e, ok := errors.AsType[*terminal.StartError](err); ok {
		return newProblem(http.StatusUnprocessableEntity, api.CodeStartFailed, e.Error())
	}
	if e, ok := errors.AsType[*terminal.BusyError](err); ok {
		return newProblem(http.StatusConflict, api.CodeWriterBusy, e.Error())
	}
	if e, ok := errors.AsType[*terminal.TrimmedError](err); ok {
		return newProblem(http.StatusGone, api.CodeTrimmed, e.Error())
	}
	if _, _, ok := terminal.Gap(err); ok {
		return newProblem(http.StatusGone, api.CodeTrimmed, err.Error())
	}
	if e, ok := errors.AsType[*terminal.LeftoverError](err); ok {
		return newProblem(http.StatusInternalServerError, api.CodeInternal, e.Error())
	}
	return nil
}

// redact takes the paths of our own state out of what a client is told, and
// the inner words of tmux.
func (s *Server) redact(text string) string {
	d := s.Dirs
	return terminal.Plain(strings.NewReplacer(
		d.Sessions(), "(sessions)",
		d.Database(), "(database)",
		d.ServerLock(), "(lock)",
		d.Runtime, "(runtime)",
		d.Config, "(config)",
	).Replace(text))
}

// refuse answers outside of huma. Whether the client still reads is its own
// business, so a failing write is nothing to report.
func refuse(w http.ResponseWriter, p *Problem) {
	body, err := json.Marshal(p)
	if err != nil {
		http.Error(w, p.Detail, p.Status)
		return
	}
	w.Header().Set("Content-Type", p.ContentType(""))
	w.WriteHeader(p.Status)
	_, _ = w.Write(append(body, '\n'))
}
