package server

import (
	"net/http"
	"time"
)

// policy lets the web client run its own script and nothing else. xterm.js
// sets styles from script, which needs 'unsafe-inline' for styles alone.
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

// withHeaders sets what every response has, and bounds how long a write may
// block on a client that does not read.
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

// patientWriter gives each write a deadline of its own, so that a stream may
// go on for days and a client that reads nothing is let go of.
type patientWriter struct {
	http.ResponseWriter
	begun  bool // something of the answer was written
	status int  // 0 before that
}

func (w *patientWriter) extend() {
	w.begun = true
	// Not every connection has deadlines; without one a write just waits.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
}

func (w *patientWriter) Write(p []byte) (int, error) {
	w.extend()
	w.status = max(w.status, http.StatusOK)
	return w.ResponseWriter.Write(p)
}

// WriteHeader extends the deadline too: an answer may have no body, and the
// connection still has the deadline of the one before.
func (w *patientWriter) WriteHeader(status int) {
	w.extend()
	if w.status < http.StatusOK { // else it is said already
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// FlushError is for http.ResponseController.
func (w *patientWriter) FlushError() error {
	w.extend()
	return http.NewResponseController(w.ResponseWriter).Flush()
}

// Unwrap is for http.ResponseController and for taking the connection over.
func (w *patientWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
