package server

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"time"

	"middleman/terminal/ws"
)

// policy lets the web client run its own script and nothing else. xterm.js sets
// styles from script, so styles need 'unsafe-inline'.
const policy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
	"font-src 'self'; connect-src 'self'; manifest-src 'self'; worker-src 'none'; " +
	"base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

var headers = map[string]string{
	"Content-Security-Policy":      policy,
	"X-Content-Type-Options":       "nosniff",
	"Referrer-Policy":              "no-referrer",
	"X-Frame-Options":              "DENY",
	"Cross-Origin-Opener-Policy":   "same-origin",
	"Cross-Origin-Resource-Policy": "same-origin",
	"Permissions-Policy":           "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}

// withHeaders sets the headers of every response, and bounds how long a write
// may block on a client that does not read.
func withHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range headers {
			w.Header().Set(name, value)
		}
		if isAPI(r) {
			w.Header().Set("Cache-Control", "no-store")
		}
		holdBody(w, r)
		next.ServeHTTP(&patientWriter{ResponseWriter: w}, r)
	})
}

// writeTimeout is how long one write to a client may block.
const writeTimeout = 30 * time.Second

// patientWriter gives each write its own deadline, so that a stream may last for
// days, and a client that reads nothing is disconnected.
type patientWriter struct {
	http.ResponseWriter
	begun  bool        // a part of the answer was written
	status int         // the status sent, 0 before that
	over   atomic.Bool // no write waits any more
}

func (w *patientWriter) extend() {
	w.begun = true
	w.setDeadline(time.Now().Add(writeTimeout))
	if w.over.Load() {
		w.setDeadline(time.Unix(1, 0))
	}
}

// setDeadline ignores the error of a connection without deadlines, where a write may just
// block.
func (w *patientWriter) setDeadline(at time.Time) {
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(at)
}

// lastWrite is how long an answer may still be written after its caller's credential has
// ended.
const lastWrite = time.Second

// cutOff breaks the answer off if it is not complete soon after the caller's credential
// has ended with ctx: that of a client which does not read. The caller calls stop when
// the answer is complete.
func (w *patientWriter) cutOff(ctx context.Context) (stop func()) {
	complete := make(chan struct{})
	forget := context.AfterFunc(ctx, func() {
		if !errors.Is(context.Cause(ctx), ws.ErrUnauthorized) {
			return
		}
		select {
		case <-complete:
		case <-time.After(lastWrite):
			w.over.Store(true)
			w.setDeadline(time.Unix(1, 0))
		}
	})
	return func() {
		forget()
		close(complete)
	}
}

func (w *patientWriter) Write(p []byte) (int, error) {
	w.extend()
	w.status = max(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// WriteHeader extends the deadline too: an answer may have no body, and the
// connection still has the deadline of the answer before.
func (w *patientWriter) WriteHeader(status int) {
	w.extend()
	if w.status < http.StatusOK { // else the final status was sent already
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// FlushError implements Flush of http.ResponseController.
func (w *patientWriter) FlushError() error {
	w.extend()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap lets http.ResponseController, and code that takes over the connection,
// find the inner writer.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
