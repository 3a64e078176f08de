package server

import (
	"net/http"

	"middleman/internal/api"
	"middleman/internal/app"
)

// withContainment answers a request whose handler panicked.
func (s *Server) withContainment(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := w.(*patientWriter) // by withHeaders
		defer func() {
			v := recover()
			if v == nil {
				return
			}
			if v == http.ErrAbortHandler {
				panic(v)
			}
			s.LogPanic(r.Method+" "+r.URL.Path, v)
			if out.begun {
				panic(http.ErrAbortHandler) // only a broken answer says that it is not whole
			}
			refuse(out, problemf(api.CodeInternal, app.InternalDetail))
		}()
		next.ServeHTTP(out, r)
	})
}
