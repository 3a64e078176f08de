package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"middleman/internal/store"
)

const maxKey = 255 // bytes of an Idempotency-Key

// secretPaths matches routes whose answer has a secret. Such an answer is not
// stored for a repeated request.
var secretPaths = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^` + apiPrefix + `/(login|login/.*|login-links|logout|tokens|tokens/[^/]+/rotate|(runtimes/[^/]+/)?sessions/[^/]+/tickets)$`)
})

// repeatable reports whether the answer to r may be stored: it has no secret.
func repeatable(r *http.Request) bool {
	return !secretPaths().MatchString(r.URL.Path)
}

// isLogin reports whether r is for one of the routes that accept a body from a
// caller that has not authenticated; see maxLogin and loginTimeout.
func isLogin(r *http.Request) bool {
	switch strings.TrimPrefix(r.URL.Path, apiPrefix) {
	case "/login", "/login/challenge", "/login/access":
		return r.Method == http.MethodPost
	}
	return false
}

// once answers a request that has an Idempotency-Key. A second request with the
// same key gets the answer of the first, and changes nothing. Only a success is
// stored: a refused request has changed nothing and may be repeated.
func (s *Server) once(w http.ResponseWriter, r *http.Request, request store.Request, next http.Handler) {
	if len(request.Key) > maxKey {
		refuse(w, malformed("an Idempotency-Key has at most %d bytes", maxKey))
		return
	}
	answer, err := s.Store.BeginRequest(r.Context(), request, time.Now())
	if err != nil {
		refuse(w, s.problemFor(r.Context(), err))
		return
	}
	if answer != nil {
		if len(answer.Body) > 0 {
			w.Header().Set("Content-Type", "application/json")
		}
		w.Header().Set("Idempotency-Replayed", "true")
		w.WriteHeader(answer.Status)
		_, _ = w.Write(answer.Body) // an error means that the client has left
		return
	}
	rec := &recorder{ResponseWriter: w}
	defer s.keepAnswer(r, request, rec)
	next.ServeHTTP(rec, r)
}

// hashRequest returns a hash that tells different requests with the same key
// apart.
func hashRequest(who identity, r *http.Request, body []byte) []byte {
	sum := sha256.New()
	for _, part := range []string{who.subject, r.URL.RawQuery, string(body)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return sum.Sum(nil)
}

// keepAnswer stores the answer or frees the key. once defers it, so that a
// handler that panics does not leave the key claimed.
func (s *Server) keepAnswer(r *http.Request, request store.Request, rec *recorder) {
	ctx := context.WithoutCancel(r.Context())
	var err error
	if rec.status >= 200 && rec.status < 300 {
		err = s.Store.FinishRequest(ctx, request, store.Answer{Status: rec.status, Body: rec.body.Bytes()})
	} else {
		err = s.Store.AbandonRequest(ctx, request)
	}
	if err != nil {
		s.Log.Error("keep the answer to a repeatable request", "error", err)
	}
}

// recorder passes a handler's answer on, and keeps a copy.
type recorder struct {
	http.ResponseWriter
	status int
	body   bytes.Buffer
}

func (r *recorder) WriteHeader(status int) {
	if r.status == 0 {
		r.status = status
	}
	r.ResponseWriter.WriteHeader(status)
}

func (r *recorder) Write(p []byte) (int, error) {
	if r.status == 0 {
		r.status = http.StatusOK
	}
	r.body.Write(p)
	return r.ResponseWriter.Write(p)
}

func (r *recorder) Unwrap() http.ResponseWriter { return r.ResponseWriter }
