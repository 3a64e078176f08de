//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// newLink is a link to log in with, which the owner gets over the Unix socket.
func (s *server) newLink() string {
	a := s.local("POST", "/api/v1/login-links", "{}")
	var v struct{ URL string }
	if err := json.Unmarshal([]byte(a.body), &v); err != nil || v.URL == "" {
		must(fmt.Errorf("ask for a login link: %s", a))
	}
	return v.URL
}

// auth is header lines that prove a login, the same for all probes of a server
// that leave it logged in.
func (s *server) auth() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.proof == nil {
		s.proof = s.login()
	}
	return append([]string{}, s.proof...)
}

// login logs in as a browser does and returns header lines that prove it.
func (s *server) login() []string {
	u := must1(url.Parse(s.newLink()))
	a := s.send(request{method: "GET", path: u.RequestURI()})
	cookie, _, _ := strings.Cut(a.header.Get("Set-Cookie"), ";")
	if cookie == "" {
		must(fmt.Errorf("log in: %s", a))
	}
	return []string{"Cookie: " + cookie}
}

// linkGuess is a guess at a login link.
func linkGuess(i int) request {
	return request{method: "GET", path: fmt.Sprintf("/login?token=%026d", i)}
}
