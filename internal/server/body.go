package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"middleman/internal/api"
	"middleman/internal/store"
)

const (
	maxBody     = 1 << 20  // bytes of a JSON request
	maxInput    = 16 << 20 // bytes of one input to a session
	bodyTimeout = time.Minute
	// maxLogin and loginTimeout bound the body of a caller that is not logged in.
	maxLogin     = 4 << 10
	loginTimeout = 10 * time.Second
	// maxBodies bounds the bytes of all bodies at a time, maxBodiesEach those of one
	// caller.
	maxBodies     = 128 << 20
	maxBodiesEach = 8 << 20
)

// holdBody lets reads of r's body fail until a handler sets another deadline, and
// closes the connection after the answer. Without the deadline, net/http would
// read the rest of an unread body itself, for as long as it comes.
func holdBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	expireRead(w)
}

// expireRead makes a blocked read of the body, and all later ones, fail.
func expireRead(w http.ResponseWriter) {
	// The error is that of a test's recorder, which has no deadlines.
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// bodyRead undoes holdBody once the whole body was read, so that the next request
// can use the connection.
func bodyRead(w http.ResponseWriter) {
	w.Header().Del("Connection")
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// withBody reads a request's whole body, within a limit of size and time, so
// that no handler waits for a client. It reads no body of a GET, of a caller
// that may not use the route, and of one that has not authenticated only that of
// a login. It leaves the body of an input to its handler, which reads as fast as
// the program does.
func (s *Server) withBody(mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, known := caller(r.Context())
		if !known && !isLogin(r) || r.Method == http.MethodGet || r.Method == http.MethodHead || !s.mayUse(mux, r) {
			r.Body = http.NoBody
			next.ServeHTTP(w, r)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if key == "" && isInput(r) {
			next.ServeHTTP(w, r)
			return
		}
		limit := int64(maxBody)
		if isLogin(r) {
			limit = maxLogin
		}
		held, ok := s.bodies.take(who.subject, expected(r, limit))
		if !ok {
			refuse(w, problemf(api.CodeBusy, "the server holds as many bodies of requests as it takes: try again"))
			return
		}
		defer held.release()
		body, err := s.readBody(w, r, limit)
		if err == nil && !isInput(r) && !utf8.Valid(body) { // encoding/json would change it silently
			err = malformed("the body is not valid UTF-8")
		}
		if err != nil {
			refuse(w, s.problemFor(r.Context(), err))
			return
		}
		held.shrink(int64(len(body)))
		r.Body = io.NopCloser(bytes.NewReader(body))
		if key != "" && repeatable(r) {
			s.once(w, r, store.Request{Key: key, Route: r.Method + " " + r.URL.Path, Hash: hashRequest(who, r, body)}, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayUse reports whether r has a route that its caller may use. It decides only whether
// the body is read: withPermission is what refuses.
func (s *Server) mayUse(mux *http.ServeMux, r *http.Request) bool {
	_, pattern := mux.Handler(r)
	method, path, _ := strings.Cut(pattern, " ")
	path, isAPI := strings.CutPrefix(path, apiPrefix)
	item := s.api.OpenAPI().Paths[path]
	if !isAPI || item == nil {
		return false
	}
	for _, op := range []*huma.Operation{item.Post, item.Put, item.Patch, item.Delete} {
		if op != nil && op.Method == method {
			need, _ := op.Metadata[accessKey].(access)
			return permit(r.Context(), need, segment(apiPrefix+path, r.URL.EscapedPath(), "{session}")) == nil
		}
	}
	return false
}

// segment returns the part of a path that stands for name in its pattern.
func segment(pattern, path, name string) string {
	i := slices.Index(strings.Split(pattern, "/"), name)
	parts := strings.Split(path, "/")
	if i < 0 || i >= len(parts) {
		return ""
	}
	text, err := url.PathUnescape(parts[i])
	if err != nil {
		return ""
	}
	return text
}

// expected is how many bytes of r's body there can be, for a limit.
func expected(r *http.Request, limit int64) int64 {
	if r.ContentLength < 0 {
		return limit
	}
	return min(r.ContentLength, limit)
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	within := s.options.BodyTimeout
	if isLogin(r) {
		within = min(within, loginTimeout)
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // undoes holdBody's
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		bodyRead(w)
		return body, nil
	}
	holdBody(w, r)
	return nil, bodyError(err, limit)
}

// bodies counts the bytes of bodies that are being read and handled: at most
// maxBodiesEach for one caller, and maxBodies for all. The Unix socket has maxBodies of
// its own.
type bodies struct {
	// mu guards the fields below.
	mu  sync.Mutex
	all int64
	of  map[string]int64
}

// heldBody is the share of one request in bodies.
type heldBody struct {
	bodies  *bodies
	subject string
	n       int64
}

// take takes n bytes for a request of subject. The caller releases them.
func (b *bodies) take(subject string, n int64) (*heldBody, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.all - b.of[socketSubject]
	if subject == socketSubject {
		taken = b.of[socketSubject]
	} else if b.of[subject]+n > maxBodiesEach {
		return nil, false
	}
	if taken+n > maxBodies {
		return nil, false
	}
	if b.of == nil {
		b.of = map[string]int64{}
	}
	b.all += n
	b.of[subject] += n
	return &heldBody{b, subject, n}, true
}

// shrink gives back what is more than n bytes.
func (h *heldBody) shrink(n int64) {
	h.bodies.mu.Lock()
	defer h.bodies.mu.Unlock()
	n = min(n, h.n)
	h.bodies.all -= h.n - n
	if h.bodies.of[h.subject] -= h.n - n; h.bodies.of[h.subject] == 0 {
		delete(h.bodies.of, h.subject)
	}
	h.n = n
}

func (h *heldBody) release() { h.shrink(0) }

// isInput reports whether r is an input to a session: the one route whose body is
// long and not JSON.
func isInput(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, apiPrefix+"/sessions/") && strings.HasSuffix(r.URL.Path, "/input")
}

// bodyError returns the problem for an error of reading a body of at most limit
// bytes.
func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	return malformed("the body did not arrive whole: %v", err)
}

func tooLarge(limit int64) *Problem {
	return problemf(api.CodeTooLarge, "the body is larger than %d bytes", limit)
}

func init() {
	huma.ValidateStrictCasing = true // a name in another case is unknown; encoding/json would take it
}

// decodeBody is json.Unmarshal, which refuses an object that has a name twice: of
// those, what is checked and what is used could differ.
func decodeBody(raw []byte, v any) error {
	if _, checks := v.(*any); checks { // the first of the two times that a body is decoded
		if err := namesOnce(raw); err != nil {
			return err
		}
	}
	return json.Unmarshal(raw, v)
}

// namesOnce returns an error if an object in a JSON text, at any depth, has a name
// twice. Of what is no JSON it returns nil.
func namesOnce(raw []byte) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	var open []map[string]bool // the names in each open object; nil for an array
	for isName := false; ; {
		token, err := d.Token()
		if err != nil {
			return nil
		}
		if name, is := token.(string); is && isName {
			names := open[len(open)-1]
			if names[name] {
				return fmt.Errorf("%q is there twice", name)
			}
			names[name], isName = true, false
			continue
		}
		switch token {
		case json.Delim('{'):
			open = append(open, map[string]bool{})
		case json.Delim('['):
			open = append(open, nil)
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		isName = len(open) > 0 && open[len(open)-1] != nil
	}
}
