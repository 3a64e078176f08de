package server

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

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
// that no handler waits for a client. It reads no body of a GET, and of a caller
// that has not authenticated only that of a login. It leaves the body of an input
// to its handler, which reads as fast as the program does.
func (s *Server) withBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, known := caller(r.Context())
		if !known && !isLogin(r) || r.Method == http.MethodGet || r.Method == http.MethodHead {
			r.Body = http.NoBody
			next.ServeHTTP(w, r)
			return
		}
		key := r.Header.Get("Idempotency-Key")
		if key == "" && isInput(r) {
			next.ServeHTTP(w, r)
			return
		}
		body, err := s.readBody(w, r)
		if err != nil {
			refuse(w, s.problemFor(r.Context(), err))
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if key != "" && repeatable(r) {
			s.once(w, r, store.Request{Key: key, Route: r.Method + " " + r.URL.Path, Hash: hashRequest(who, r, body)}, next)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength == 0 {
		return nil, nil
	}
	limit, within := int64(maxBody), s.options.BodyTimeout
	if isLogin(r) {
		limit, within = maxLogin, min(within, loginTimeout)
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
