package server

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
)

const (
	linkLife   = 10 * time.Minute
	cookieLife = 30 * 24 * time.Hour
)

// LoginLink returns a link that logs one browser in, once, within ten
// minutes. Serve must have been called.
func (s *Server) LoginLink(ctx context.Context) (string, error) {
	address, err := s.tcpAddress()
	if err != nil {
		return "", err
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", err
	}
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	secret, now := store.NewSecret(), time.Now()
	if err := s.Store.CreateLoginLink(ctx, secret, now, now.Add(linkLife)); err != nil {
		return "", err
	}
	return "http://" + net.JoinHostPort(host, port) + "/login?token=" + url.QueryEscape(secret), nil
}

func (s *Server) cookieName() string { return "middleman_" + s.Instance }

// login takes a login link: GET /login?token=. Only a person's visit spends
// it: what looks at links before they are followed gets no login.
func (s *Server) login(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	if why := notVisit(r); why != "" {
		refuseLogin(w, r, problemf(http.StatusForbidden, api.CodeForbidden,
			"a login link is for a visit (%s): it was not used up", why))
		return
	}
	now := time.Now()
	err := s.Store.UseLoginLink(r.Context(), r.URL.Query().Get("token"), now)
	if errors.Is(err, store.ErrNotFound) {
		err = newProblem(http.StatusUnauthorized, api.CodeUnauthorized,
			"this login link was used before or has expired: get a new one with `middleman open`")
	}
	secret := store.NewSecret()
	if err == nil {
		err = s.Store.CreateLogin(r.Context(), secret, store.Login{CreatedAt: now, ExpiresAt: now.Add(cookieLife)})
	}
	if err != nil {
		refuseLogin(w, r, s.problem(err))
		return
	}
	http.SetCookie(w, s.newCookie(secret, cookieLife))
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// notVisit says by which header r is no visit to a page, or "". A browser says
// what a request is for; a program need not.
func notVisit(r *http.Request) string {
	for _, name := range []string{"Sec-Purpose", "Purpose", "X-Purpose", "X-Moz"} { // the newest first
		if value := r.Header.Get(name); strings.Contains(value, "prefetch") || strings.Contains(value, "preview") {
			return name + " is " + value
		}
	}
	for name, want := range map[string]string{"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"} {
		if value := r.Header.Get(name); value != "" && value != want {
			return name + " is " + value
		}
	}
	return ""
}

// refuseLogin tells a person in words, and a program in JSON.
func refuseLogin(w http.ResponseWriter, r *http.Request, p *Problem) {
	if strings.Contains(r.Header.Get("Accept"), "text/html") {
		http.Error(w, p.Detail, p.Status)
		return
	}
	refuse(w, p)
}

// loginSubject is identity.subject of the login with that cookie.
func loginSubject(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return "login:" + hex.EncodeToString(sum[:8])
}

// logout ends this browser's login, and what it has open.
func (s *Server) logout(w http.ResponseWriter, r *http.Request) {
	if cookie, err := r.Cookie(s.cookieName()); err == nil {
		err := s.Store.DeleteLogin(r.Context(), cookie.Value)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			refuse(w, s.problem(err))
			return
		}
		defer s.calls.end(loginSubject(cookie.Value)) // this request too, once it is answered
	}
	http.SetCookie(w, s.newCookie("", -time.Second))
	w.WriteHeader(http.StatusNoContent)
}

func (s *Server) newCookie(value string, life time.Duration) *http.Cookie {
	return &http.Cookie{
		Name:     s.cookieName(),
		Value:    value,
		Path:     "/",
		MaxAge:   int(life.Seconds()),
		HttpOnly: true,
		SameSite: http.SameSiteStrictMode,
	}
}
