package server

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/server/runtimes"
)

const apiPrefix = "/api/v1"

// routes builds the server's handler, with all checks around the routes.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	config := huma.DefaultConfig("middleman", s.options.Version)
	config.Components.Schemas = huma.NewMapRegistry("#/components/schemas/", schemaName)
	config.CreateHooks = nil // no $schema links
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.RejectUnknownQueryParameters = true
	json := huma.DefaultJSONFormat
	json.Unmarshal = decodeBody
	config.Formats = map[string]huma.Format{"application/json": json, "json": json}
	s.api = humago.NewWithPrefix(mux, apiPrefix, config)
	s.api.UseMiddleware(s.withPermission, s.withSeat, s.withAudit)

	s.systemRoutes()
	s.loginRoutes()
	s.pushRoutes()
	s.backendRoutes()
	s.workspaceRoutes()
	s.lookRoutes()
	s.sessionRoutes()
	s.terminalRoutes()
	s.leftoverRoutes()
	s.trustRoutes()
	s.approvalRoutes()
	s.workerRoutes()
	s.tokenRoutes()
	s.bundleRoutes()
	runtimes.Add(s.api, s.runtimes, runtimeServer{s}, wsProtocol) // last: most are those above, on a runtime

	mux.HandleFunc("GET "+apiPrefix+"/openapi.json", s.openAPI)
	mux.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, problemf(api.CodeNotFound, "there is no %s %s", r.Method, r.URL.Path))
	})
	mux.Handle("/", s.withName(s.options.Web))
	return withHeaders(s.withContainment(s.withGuard(s.withCaller(s.withBody(mux, mux)))))
}

// openAPI answers with the OpenAPI document of all routes.
func (s *Server) openAPI(w http.ResponseWriter, r *http.Request) {
	if p := permit(r.Context(), accessRead, ""); p != nil {
		refuse(w, p)
		return
	}
	data, err := json.Marshal(s.api.OpenAPI())
	if err != nil {
		refuse(w, s.problem(err))
		return
	}
	w.Header().Set("Content-Type", "application/vnd.oai.openapi+json")
	_, _ = w.Write(data) // an error means that the client has left
}

const accessKey = "access"

// schemaName names the schema of a type as the type is named, except where two
// packages have one of that name.
func schemaName(t reflect.Type, hint string) string {
	if t == reflect.TypeFor[agent.Status]() || t == reflect.TypeFor[*agent.Status]() {
		return "AgentStatus"
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// route describes an operation that needs the given access.
func route(method, path, id, summary string, need access) huma.Operation {
	return huma.Operation{
		Method:      method,
		Path:        path,
		OperationID: id,
		Summary:     summary,
		Metadata:    map[string]any{accessKey: need},
		// withBody reads and bounds bodies before huma sees them.
		BodyReadTimeout: -1,
		MaxBodyBytes:    -1,
	}
}

// add registers a handler. problemFor turns its errors into problems.
func add[I, O any](s *Server, op huma.Operation, handle func(context.Context, *I) (*O, error)) {
	huma.Register(s.api, op, func(ctx context.Context, in *I) (*O, error) {
		if err := s.findWorkspace(ctx, in); err != nil {
			return nil, s.problemFor(ctx, err)
		}
		out, err := handle(ctx, in)
		if err != nil {
			return nil, s.problemFor(ctx, err)
		}
		return out, nil
	})
}

// stream is an answer that a function writes.
type stream struct {
	Body func(huma.Context)
}

// raw makes a stream of a function that handles the plain request.
func raw(f func(http.ResponseWriter, *http.Request)) *stream {
	return &stream{Body: func(ctx huma.Context) {
		r, w := humago.Unwrap(ctx)
		f(w, r)
	}}
}

// notForHubs reports whether an operation is one that a server for hubs alone lacks.
func notForHubs(op *huma.Operation) bool {
	switch op.OperationID {
	case "create-login-link", "login", "login-challenge", "login-access", "create-ticket", "get-push-subscription", "set-push-subscription", "delete-push-subscription":
		return true
	}
	return strings.HasPrefix(op.Path, "/runtimes")
}

// withPermission refuses callers that may not use the route.
func (s *Server) withPermission(ctx huma.Context, next func(huma.Context)) {
	need, _ := ctx.Operation().Metadata[accessKey].(access)
	if s.options.HubsAlone && notForHubs(ctx.Operation()) {
		_, w := humago.Unwrap(ctx)
		refuse(w, problemf(api.CodeUnsupported, "this server serves hubs and the commands of its machine alone (serve --runtime): it has no logins, and no runtimes of its own"))
		return
	}
	if p := permit(ctx.Context(), need, ctx.Param("session")); p != nil {
		r, w := humago.Unwrap(ctx)
		s.recordRefusal(r, p)
		refuse(w, p)
		return
	}
	next(ctx)
}

// runtimeServer is the server as package runtimes wants it.
type runtimeServer struct{ *Server }

// Describe implements runtimes.Server.
func (s runtimeServer) Describe(method, path, id, summary string) huma.Operation {
	need := accessFull
	if method == http.MethodGet {
		need = accessRead
	}
	return route(method, path, id, summary, need)
}

// OnRuntime implements runtimes.Server. No token of the hub is for one session of a
// runtime.
func (s runtimeServer) OnRuntime(local map[string]any) map[string]any {
	need, _ := local[accessKey].(access)
	switch need {
	case accessSession:
		need = accessRead
	case accessOwn, accessWorker, accessAnybody:
		need = accessFull
	}
	return map[string]any{accessKey: need}
}

// Problem implements runtimes.Server.
func (s runtimeServer) Problem(ctx context.Context, err error) huma.StatusError {
	return s.problemFor(ctx, err)
}

// Refuse implements runtimes.Server.
func (s runtimeServer) Refuse(w http.ResponseWriter, r *http.Request, err error) {
	refuse(w, s.problemFor(r.Context(), err))
}

// OnSocket implements runtimes.Server.
func (s runtimeServer) OnSocket(ctx context.Context) bool {
	id, ok := caller(ctx)
	return ok && id.subject == socketSubject
}

// MayAttach implements runtimes.Server.
func (s runtimeServer) MayAttach(r *http.Request) error {
	if p := permit(r.Context(), accessFull, ""); p != nil {
		s.recordRefusal(r, p)
		return p
	}
	return nil
}
