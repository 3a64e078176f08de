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
	"middleman/internal/app"
	"middleman/internal/store"
	"middleman/terminal"
	"middleman/terminal/ws"
)

// Problem is the JSON body of every error answer of the API (RFC 9457).
type Problem struct {
	api.Problem
}

// GetStatus returns the HTTP status. It implements huma.StatusError.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType returns the media type of RFC 9457. huma calls it.
func (p *Problem) ContentType(string) string { return "application/problem+json" }

// huma makes its own errors, such as that of a body that does not match its
// schema, with huma.NewError. Only by replacing it do all errors get one form.
func init() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		return newProblem(status, codeOf(status), describe(msg, errs))
	}
}

// newProblem returns a problem with all the standard members. It is the only
// constructor.
func newProblem(status int, code, detail string) *Problem {
	return &Problem{api.Problem{
		Type:   "urn:middleman:problem:" + code,
		Title:  http.StatusText(status),
		Status: status,
		Detail: detail,
		Code:   code,
	}}
}

// problemf returns a problem that the server itself found, with the status of
// code. Package app is not involved.
func problemf(code, format string, args ...any) *Problem {
	r := app.Refusef(code, format, args...)
	return newProblem(refusalStatus(r), code, r.Detail)
}

// malformed returns the problem of a request that cannot be read: status 400.
func malformed(format string, args ...any) *Problem {
	return newProblem(http.StatusBadRequest, api.CodeBadRequest, fmt.Sprintf(format, args...))
}

// codeOf returns the code for a problem that has only a status.
func codeOf(status int) string {
	switch {
	case status == http.StatusUnauthorized:
		return api.CodeUnauthorized
	case status == http.StatusForbidden:
		return api.CodeForbidden
	case status == http.StatusNotFound:
		return api.CodeNotFound
	case status == http.StatusRequestEntityTooLarge:
		return api.CodeTooLarge
	case status >= 500 || status == 0:
		return api.CodeInternal
	}
	return api.CodeBadRequest
}

// describe joins the errors that huma found. It leaves out the values, which may
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

// statuses maps codes to HTTP statuses. A code that is not here has 409.
var statuses = map[string]int{
	api.CodeUnauthorized: http.StatusUnauthorized,
	api.CodeForbidden:    http.StatusForbidden,
	api.CodeBadOrigin:    http.StatusForbidden,
	api.CodeBadHost:      http.StatusMisdirectedRequest,
	api.CodeNotFound:     http.StatusNotFound,

	api.CodeBadRequest:       http.StatusUnprocessableEntity,
	api.CodeKeyReused:        http.StatusUnprocessableEntity,
	api.CodeBadName:          http.StatusUnprocessableEntity,
	api.CodeNotRepository:    http.StatusUnprocessableEntity,
	api.CodeForeign:          http.StatusUnprocessableEntity,
	api.CodeNoCommits:        http.StatusUnprocessableEntity,
	api.CodeBadBase:          http.StatusUnprocessableEntity,
	api.CodeEscapes:          http.StatusUnprocessableEntity,
	api.CodeLeavesScope:      http.StatusUnprocessableEntity,
	api.CodeNothingToCompare: http.StatusUnprocessableEntity,
	api.CodeUnsupported:      http.StatusUnprocessableEntity,
	api.CodeStartFailed:      http.StatusUnprocessableEntity,
	api.CodeBadConfig:        http.StatusUnprocessableEntity,
	api.CodeGitReplaced:      http.StatusUnprocessableEntity,
	api.CodeUnreadable:       http.StatusUnprocessableEntity,
	api.CodeBundleInvalid:    http.StatusUnprocessableEntity,
	api.CodeBundleProfile:    http.StatusUnprocessableEntity,
	api.CodeBundleDeclared:   http.StatusUnprocessableEntity,
	api.CodeRefusedGrant:     http.StatusUnprocessableEntity,
	api.CodeSecret:           http.StatusUnprocessableEntity,
	api.CodeBundleMissing:    http.StatusNotFound,
	api.CodeBundleStore:      http.StatusInternalServerError,
	api.CodeTooLarge:         http.StatusRequestEntityTooLarge,
	api.CodeRange:            http.StatusRequestedRangeNotSatisfiable,
	api.CodeTrimmed:          http.StatusGone,

	api.CodeInternal:    http.StatusInternalServerError,
	api.CodeGitFailed:   http.StatusInternalServerError,
	api.CodeFetch:       http.StatusBadGateway,
	api.CodePushFailed:  http.StatusBadGateway,
	api.CodeStopping:    http.StatusServiceUnavailable,
	api.CodeTooManyView: http.StatusServiceUnavailable,
	api.CodeUnreachable: http.StatusServiceUnavailable,
	api.CodeTimeout:     http.StatusGatewayTimeout,
	api.CodeDiskFull:    http.StatusInsufficientStorage,

	api.CodeRuntimeLost:    http.StatusServiceUnavailable,
	api.CodeRuntimeRefused: http.StatusBadGateway,
}

// refusalStatus returns the status of a refusal. A code that is not in statuses
// means that the request is valid but the present state forbids it: 409.
func refusalStatus(r *app.Refusal) int {
	switch {
	case r.Code == api.CodeEnded && errors.Is(r.Err, terminal.ErrGone):
		return http.StatusGone
	case r.Code == api.CodeBadRequest && errors.Is(r.Err, store.ErrBadCursor):
		return http.StatusBadRequest
	case errors.Is(r.Err, app.ErrTooManyInputs):
		return http.StatusServiceUnavailable
	case r.Conflict:
		return http.StatusConflict
	}
	if status, ok := statuses[r.Code]; ok {
		return status
	}
	return http.StatusConflict
}

// problem turns an error into the problem for the client. Only here are statuses
// chosen.
func (s *Server) problem(err error) *Problem {
	if p, ok := errors.AsType[*Problem](err); ok {
		return p
	}
	r := s.Explain(err)
	p := newProblem(refusalStatus(r), r.Code, r.Detail)
	p.Lost, p.Sessions, p.Workers, p.Files, p.Field = r.Lost, r.Sessions, r.Workers, r.Files, r.Field
	return p
}

// problemFor is problem for the answer to a request. If the caller's credential
// ended meanwhile, the problem is 401. Over the Unix socket, where the caller is
// this user, an internal error names the log file.
func (s *Server) problemFor(ctx context.Context, err error) *Problem {
	if errors.Is(context.Cause(ctx), ws.ErrUnauthorized) {
		return problemf(api.CodeUnauthorized, "%v", ws.ErrUnauthorized)
	}
	p := s.problem(err)
	if wayOf(ctx) == bySocket && p.Detail == app.InternalDetail && s.options.LogFile != "" {
		return newProblem(p.Status, api.CodeInternal, "internal error; "+s.options.LogFile+" says more")
	}
	return p
}

// refuse answers with p, outside of huma. It ignores an error of the write, which
// means that the client has left.
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

// withContainment recovers a panic of a handler, logs it, and answers with an
// internal error. If the answer has begun, it breaks the connection instead.
func (s *Server) withContainment(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := w.(*patientWriter) // withHeaders made it
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.LogPanic(r.Method+" "+r.URL.Path, v)
			if out.begun {
				panic(http.ErrAbortHandler) // a broken answer is the only way to tell that it is incomplete
			}
			refuse(out, problemf(api.CodeInternal, app.InternalDetail))
		}()
		next.ServeHTTP(out, r)
	})
}
