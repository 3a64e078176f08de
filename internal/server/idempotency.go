package server

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"regexp"
	"strings"
	"time"

	"middleman/internal/store"
)

const maxKey = 255 // bytes of an Idempotency-Key

// secretPaths answer with a secret, which is not kept for a repeated request.
var secretPaths = regexp.MustCompile(`^` + apiPrefix + `/(login|login/.*|login-links|logout|tokens|tokens/[^/]+/rotate|sessions/[^/]+/tickets)$`)

// repeatable leaves out what answers with a secret: it is not kept.
func repeatable(r *http.Request) bool {
	return !secretPaths.MatchString(r.URL.Path)
}

// isLogin tells the routes that anybody may send a body to: a small one, soon.
func isLogin(r *http.Request) bool {
	switch strings.TrimPrefix(r.URL.Path, apiPrefix) {
	case "/login", "/login/challenge", "/login/access":
		return r.Method == http.MethodPost
	}
	return false
}

// once answers a request that carries an Idempotency-Key: a second one with
// the same key gets the first one's answer, and nothing happens again. Only
// success is kept; what was refused has changed nothing and may be repeated.
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
		_, _ = w.Write(answer.Body) // a client that has left is nothing to report
		return
	}
	rec := &recorder{ResponseWriter: w}
	defer s.keepAnswer(r, request, rec)
	next.ServeHTTP(rec, r)
}

// hashRequest tells requests with one key apart.
func hashRequest(who identity, r *http.Request, body []byte) []byte {
	sum := sha256.New()
	for _, part := range []string{who.subject, r.URL.RawQuery, string(body)} {
		sum.Write([]byte(part))
		sum.Write([]byte{0})
	}
	return sum.Sum(nil)
}

// keepAnswer runs also where the handler panicked, so that the key is not
// left claimed.
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

// recorder keeps what a handler answers.
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
