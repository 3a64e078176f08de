package server

import (
	"net/http"
	"time"
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
	begun  bool // a part of the answer was written
	status int  // the status sent, 0 before that
}

func (w *patientWriter) extend() {
	w.begun = true
	// A connection without deadlines gives an error; then a write may just block.
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(writeTimeout))
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
