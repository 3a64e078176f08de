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
	maxBody     = 1 << 20  // of a JSON request
	maxInput    = 16 << 20 // of what is typed at once
	bodyTimeout = time.Minute
	// maxLogin and loginTimeout bound what somebody sends who is not logged in.
	maxLogin     = 4 << 10
	loginTimeout = 10 * time.Second
)

// holdBody says that nothing of a body is read until somebody wants it, and
// that a connection with an unread body is of no further use. Without the
// deadline net/http would read what nobody has read, for as long as it comes.
func holdBody(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength == 0 {
		return
	}
	w.Header().Set("Connection", "close")
	expireRead(w)
}

// expireRead ends a read of the body, and each that follows.
func expireRead(w http.ResponseWriter) {
	// A test's recorder has no deadlines and nothing that could stall.
	_ = http.NewResponseController(w).SetReadDeadline(time.Unix(1, 0))
}

// bodyRead says that the whole body was read: the next request may follow.
func bodyRead(w http.ResponseWriter) {
	w.Header().Del("Connection")
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// withBody reads the whole of a request's body, within a size and a time, so
// that no handler waits for a client. Of those who have not proved who they
// are, nothing is read but a login, and nothing of a GET. What is typed is left
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
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(within)) // as holdBody says
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil {
		bodyRead(w)
		return body, nil
	}
	holdBody(w, r)
	return nil, bodyError(err, limit)
}

// isInput tells the one route whose body is long and not JSON.
func isInput(r *http.Request) bool {
	return strings.HasPrefix(r.URL.Path, apiPrefix+"/sessions/") && strings.HasSuffix(r.URL.Path, "/input")
}

// bodyError is why a body of at most limit bytes was not read to its end.
func bodyError(err error, limit int64) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return tooLarge(limit)
	}
	return malformed("the body did not arrive whole: %v", err)
}

func tooLarge(limit int64) *Problem {
	return problemf(api.CodeTooLarge, "the body is larger than %d bytes", limit)
}
