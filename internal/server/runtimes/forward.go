package runtimes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/runtime"
	"middleman/terminal"
	"middleman/terminal/ws"
	"middleman/workspace"
)

const (
	runtimePrefix = "/runtimes/{runtime}"
	// quick bounds a call that reads, slow one that does something.
	quick = 30 * time.Second
	slow  = 10 * time.Minute
)

// forward says how an operation of this API is passed on to a runtime.
type forward struct {
	in    func() any // a value of the body's type; nil for none
	out   func() any // a value of the answer's type; nil for none
	limit time.Duration
	// answer writes an answer that is not JSON, in place of out.
	answer func(*routes, http.ResponseWriter, *http.Request, *runtime.Remote, call)
	// needs is a feature that the runtime must have if the query has parameter.
	needs, parameter string
}

func of[T any]() func() any { return func() any { return new(T) } }

// forwards are the operations that are passed on, by their ids. All others are
// not.
var forwards = map[string]forward{
	"version":                 {out: of[api.Version](), limit: quick},
	"list-workspaces":         {out: of[api.Workspaces](), limit: quick},
	"get-workspace":           {out: of[api.Workspace](), limit: quick},
	"create-workspace":        {in: of[api.NewWorkspace](), out: of[api.Created](), limit: slow},
	"retry-workspace":         {in: of[api.Retry](), out: of[api.Created](), limit: slow},
	"delete-workspace":        {out: of[api.Deleted](), limit: slow},
	"restore-workspace":       {out: of[api.Restored](), limit: slow},
	"diff-workspace":          {answer: (*routes).forwardDiff},
	"list-commits":            {out: of[workspace.Commits](), limit: quick},
	"forecast-conflicts":      {out: of[api.Conflicts](), limit: slow},
	"rename-workspace":        {in: of[api.Rename](), out: of[api.Workspace](), limit: quick},
	"merge-workspace":         {in: of[api.Merge](), out: of[api.Merged](), limit: slow},
	"push-workspace":          {in: of[api.Push](), out: of[api.Pushed](), limit: slow},
	"import-sandbox":          {out: of[api.Brought](), limit: slow},
	"get-workspace-config":    {out: of[api.RepoConfig](), limit: quick},
	"trust-workspace-config":  {in: of[api.Approve](), out: of[api.Approved](), limit: slow},
	"get-setup-log":           {out: of[api.SetupLog](), limit: quick},
	"get-config":              {out: of[api.RepoConfig](), limit: quick},
	"list-trust":              {out: of[api.Trusts](), limit: quick},
	"trust-config":            {in: of[api.ApproveIn](), out: of[api.Approved](), limit: quick},
	"revoke-trust":            {out: of[api.Revoked](), limit: quick},
	"prune":                   {out: of[api.Leftovers](), limit: slow},
	"forget-transcripts":      {out: of[api.ForgottenTranscripts](), limit: slow},
	"import":                  {in: of[api.Import](), out: of[api.Imported](), limit: slow},
	"repair":                  {in: of[api.Repair](), out: of[api.Repaired](), limit: slow},
	"spawn-worker":            {in: of[api.NewWorker](), out: of[api.Spawned](), limit: slow},
	"list-workers":            {out: of[api.Workers](), limit: quick},
	"list-transcripts":        {out: of[api.Sessions](), limit: quick},
	"search":                  {out: of[api.Matches](), limit: slow},
	"list-sessions":           {out: of[api.Sessions](), limit: quick},
	"list-workspace-sessions": {out: of[api.Sessions](), limit: quick},
	"list-profiles":           {out: of[api.Profiles](), limit: quick},
	"list-workspace-profiles": {out: of[api.Profiles](), limit: quick},
	"start-session":           {in: of[api.NewSession](), out: of[api.Session](), limit: slow},
	"get-session":             {out: of[api.Session](), limit: quick},
	"end-session":             {out: of[api.Session](), limit: slow, needs: api.FeatureKeepEnded, parameter: "keep"},
	"resume-session":          {in: of[api.NewSession](), out: of[api.Session](), limit: slow},
	"rename-session":          {in: of[api.Rename](), out: of[api.Session](), limit: quick},
	"list-session-workers":    {out: of[api.Workers](), limit: quick},
	"agent-status":            {out: of[agent.Report](), limit: quick},
	"send-prompt":             {in: of[api.Prompt](), out: of[api.Prompted](), limit: quick},
	"send-input":              {answer: (*routes).forwardInput},
	"capture":                 {answer: (*routes).forwardCapture},
	"output":                  {answer: (*routes).forwardOutput},
	"recording":               {answer: (*routes).forwardRecording},
	"wait":                    {out: of[api.Waited](), limit: quick},
	"terminal":                {answer: (*routes).forwardTerminal},
	"list-approvals":          {out: of[api.Approvals](), limit: quick},
	"list-session-approvals":  {out: of[api.Approvals](), limit: quick},
	"get-approval":            {out: of[api.Approval](), limit: quick},
	"answer-approval":         {in: of[api.ApprovalAnswer](), out: of[api.Approval](), limit: quick},
	"push-bundle":             {in: of[json.RawMessage](), out: of[api.PushedBundle](), limit: quick},
	"list-bundles":            {out: of[api.Bundles](), limit: quick},
	"get-bundle":              {out: of[api.Bundle](), limit: quick},
	"check-bundle":            {out: of[api.Availability](), limit: quick},
	"remove-bundle":           {out: of[api.RemovedBundles](), limit: quick},
}

// forwardAll adds the routes under /runtimes/{runtime}. Each is described as the
// operation that it passes on.
func (rs *routes) forwardAll() {
	var ops []huma.Operation
	for _, item := range rs.api.OpenAPI().Paths {
		for _, op := range []*huma.Operation{item.Get, item.Post, item.Delete} {
			if op != nil {
				ops = append(ops, *op)
			}
		}
	}
	for _, op := range ops {
		if f, ok := forwards[op.OperationID]; ok {
			rs.forwardRoute(op, f)
		}
	}
}

func (rs *routes) forwardRoute(op huma.Operation, f forward) {
	local := op.Path
	op.Path, op.OperationID, op.Summary = runtimePrefix+op.Path, "runtime-"+op.OperationID, op.Summary+", on a runtime"
	op.Metadata = rs.server.OnRuntime(op.Metadata)
	var query []string
	for _, p := range op.Parameters {
		if p.In == "query" && p.Name != "ticket" {
			query = append(query, p.Name)
		}
	}
	op.Parameters = append(slices.Clone(op.Parameters), &huma.Param{
		Name: "runtime", In: "path", Required: true, Schema: &huma.Schema{Type: huma.TypeString}, Description: "Name of a remote runtime",
	})
	handle := func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		remote, c, err := rs.forwarded(r, local, query)
		if err == nil && f.parameter != "" && r.URL.Query().Has(f.parameter) {
			err = needs(r.Context(), remote, f.needs)
		}
		switch {
		case err != nil:
			rs.refuse(w, r, err)
		case f.answer != nil:
			f.answer(rs, w, r, remote, c)
		default:
			rs.forwardJSON(w, r, remote, c, f, max(op.DefaultStatus, http.StatusOK))
		}
	}
	rs.api.OpenAPI().AddOperation(&op)
	rs.api.Adapter().Handle(&op, rs.api.Middlewares().Handler(handle))
}

// needs refuses what a runtime has not told that it can do.
func needs(ctx context.Context, remote *runtime.Remote, feature string) error {
	if remote.Status().State != runtime.Reachable {
		remote.Check(ctx)
	}
	if remote.Status().State == runtime.Reachable && !remote.Has(feature) {
		return app.Refusef(api.CodeUnsupported, "runtime %s is too old for this: it lacks the feature %s; upgrade it", remote.Config().Name, feature)
	}
	return nil
}

// call is a request to a runtime, without its body.
type call struct {
	method, path string
	header       http.Header
	within       time.Duration // what the caller asked the runtime to wait
}

// forwarded returns the remote and the request for it. local is the pattern of the
// path there. Ids are escaped again, and of the query only known parameters go on.
func (rs *routes) forwarded(r *http.Request, local string, known []string) (*runtime.Remote, call, error) {
	c := call{method: r.Method, header: http.Header{}}
	remote, err := rs.find(r.Context(), r.PathValue("runtime"))
	if err != nil {
		return nil, c, err
	}
	segments := strings.Split(local, "/")
	for i, segment := range segments {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			id := r.PathValue(strings.TrimSuffix(name, "}"))
			if id == "" || id == "." || id == ".." {
				return nil, c, app.Refusef(api.CodeNotFound, "%q is no id", id)
			}
			segments[i] = url.PathEscape(id)
		}
	}
	c.path = strings.Join(segments, "/")
	query := r.URL.Query()
	query.Del("ticket") // it was for this server
	for name := range query {
		if !slices.Contains(known, name) {
			return nil, c, app.Refusef(api.CodeBadRequest, "there is no query parameter %q", name)
		}
	}
	if strings.HasSuffix(local, "/wait") && rs.server.Guest(r) {
		query.Set(ws.GuestKey, "1")
	}
	if len(query) > 0 {
		c.path += "?" + query.Encode()
	}
	for _, name := range []string{"wait", "timeout"} {
		if text := query.Get(name); text != "" {
			if c.within, err = duration(name, text); err != nil {
				return nil, c, err
			}
		}
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		c.header.Set("Idempotency-Key", key)
	}
	return remote, c, nil
}

// refuse answers with an error of a call on a runtime, in our words.
func (rs *routes) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if e, ok := errors.AsType[*runtime.Refusal](err); ok {
		detail := e.Detail
		if rs.server.OnSocket(r.Context()) {
			detail = e.Explained
		}
		refusal := &app.Refusal{Code: e.Code, Detail: detail, Lost: e.Lost, Sessions: e.Sessions, Workers: e.Workers, Files: e.Files}
		if e.Gone {
			refusal.Err = terminal.ErrGone
		}
		err = refusal
	} else if e, ok := errors.AsType[*runtime.Error](err); ok {
		code, text := api.CodeRuntimeLost, e.Error()
		switch {
		case e.State() == runtime.Refused:
			code = api.CodeRuntimeRefused
		case r.Method == http.MethodGet:
		case e.Sent:
			text += "; it is not known whether it did what was asked"
		default:
			text += "; what was asked was not sent"
		}
		err = app.Refusef(code, "%s", text)
	}
	rs.server.Refuse(w, r, err)
}

// forwardJSON passes on an operation whose body and answer are JSON. Both are
// decoded, and encoded again.
func (rs *routes) forwardJSON(w http.ResponseWriter, r *http.Request, remote *runtime.Remote, c call, f forward, status int) {
	body, err := forwardBody(r, f)
	var out any
	if err == nil {
		if body != nil {
			c.header.Set("Content-Type", "application/json")
		}
		if f.out != nil {
			out = f.out()
		}
		ctx := r.Context()
		if rs.server.OnSocket(ctx) {
			ctx = runtime.Explained(ctx)
		}
		err = remote.Call(ctx, c.method, c.path, c.header, body, f.limit+c.within, out)
	}
	if err == nil {
		if asked, told := subject(r, out); told != "" && told != asked {
			err = remote.Failed(&runtime.Error{Reason: runtime.BadProtocol, Sent: true, Cause: fmt.Errorf("asked for %q, it tells of %q", asked, told)})
		}
	}
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(out)
	}
	if err != nil {
		rs.refuse(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(append(raw, '\n')) // an error means that the client has left
}

// subject returns what a request that reads or deletes has asked for by its id, and what
// the answer tells of; told is "" if the answer may tell of anything.
func subject(r *http.Request, out any) (asked, told string) {
	var about string
	switch out := out.(type) {
	case *api.Workspace:
		about, told = "workspace", out.ID
	case *api.Deleted:
		about, told = "workspace", out.Workspace.ID
	case *api.Session:
		about, told = "session", out.ID
	case *api.Approval:
		about, told = "approval", out.ID
	case *api.Availability:
		if asked = r.URL.Query().Get("digest"); asked == "" {
			return "", ""
		}
		return asked, out.Digest
	}
	asked = r.PathValue(about)
	if r.Method == http.MethodPost || terminal.CheckID(asked) != nil { // a workspace can be asked for by its name
		return asked, ""
	}
	return asked, told
}

// longest bounds what a caller can ask a runtime to wait.
const longest = time.Hour

func duration(name, text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, app.Refusef(api.CodeBadRequest, "%s is %q: it must be a duration such as 30s", name, text)
	}
	return min(d, longest), nil
}

// forwardBody decodes the body, and encodes it again. The environment of a caller
// stays on this machine.
func forwardBody(r *http.Request, f forward) ([]byte, error) {
	raw, err := io.ReadAll(r.Body) // withBody has bounded it
	if err != nil || f.in == nil || len(raw) == 0 {
		return nil, err
	}
	in := f.in()
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(in); err != nil {
		return nil, app.Refusef(api.CodeBadRequest, "the body does not have the form of this request: %v", err)
	}
	var env [][]byte
	switch in := in.(type) {
	case *api.NewWorkspace:
		if in.Session != nil {
			env = in.Session.CallerEnv
		}
	case *api.NewSession:
		env = in.CallerEnv
	case *api.NewWorker:
		env = in.Session.CallerEnv
	case *api.Retry:
		env = in.CallerEnv
	case *api.Push:
		in.Agent = "" // the caller's SSH agent is of this machine
	}
	if env != nil {
		return nil, app.Refusef(api.CodeForbidden, "caller_env does not go to a runtime: name variables in env")
	}
	return json.Marshal(in)
}
