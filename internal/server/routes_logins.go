package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
)

// loginRoutes are those of logins. What changes something is a POST or a
// DELETE: following a link, or looking at it ahead of that, does nothing.
func (s *Server) loginRoutes() {
	add(s, route(http.MethodPost, "/login-links", "create-login-link", "Make a link that logs one browser in, once", accessFull), s.postLoginLink)
	add(s, route(http.MethodPost, "/login", "login", "Trade the secret of a login link for a login", accessAnybody), s.postLogin)
	add(s, route(http.MethodPost, "/login/challenge", "login-challenge", "Have the server prove who it is, and get a nonce", accessAnybody), s.postChallenge)
	add(s, route(http.MethodPost, "/login/access", "login-access", "Get an access token for a signed nonce", accessAnybody), s.postAccess)
	add(s, route(http.MethodPost, "/logout", "logout", "End the login that asks, and what it has open", accessFull), s.postLogout)
	add(s, route(http.MethodGet, "/logins", "list-logins", "Browsers that are logged in", accessFull), s.getLogins)
	add(s, route(http.MethodDelete, "/logins/{login}", "delete-login", "Log a browser out, and end what it has open", accessFull), s.deleteLogin)
	add(s, route(http.MethodDelete, "/logins", "delete-logins", "Log every browser out, and forget unused login links", accessFull), s.deleteLogins)
	add(s, route(http.MethodPost, "/sessions/{session}/tickets", "create-ticket",
		"Get a ticket for one thing of a session, where no Authorization header can be sent", accessSession), s.postTicket)
}

type loginLinkIn struct {
	Body api.NewLoginLink
}

func (s *Server) postLoginLink(ctx context.Context, in *loginLinkIn) (*reply[api.LoginLink], error) {
	socket, _ := ctx.Value(socketKey{}).(bool)
	if !socket {
		return nil, problemf(api.CodeForbidden,
			"login links are made over the server's socket alone, by `middleman open`: a link would outlive the token that asks")
	}
	link, secret, err := s.newLink(ctx, in.Body.Port)
	if err != nil {
		return nil, err
	}
	out := api.LoginLink{URL: link}
	if in.Body.File {
		out.File, err = s.linkFiles.write(link, secret)
	}
	return &reply[api.LoginLink]{out}, err
}
