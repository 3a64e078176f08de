package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/store"
	"middleman/terminal"
)

// maxTokenLife bounds the life of a token: 100 years.
const maxTokenLife = 100 * 365 * 24 * time.Hour

// tokenPath is the path parameter of a token.
type tokenPath struct {
	Token string `path:"token" doc:"Id or name of a token"`
}

type newTokenIn struct {
	Body api.NewToken
}

func (s *Server) tokenRoutes() {
	create := route(http.MethodPost, "/tokens", "create-token", "Make a token; its secret is returned once", accessFull)
	create.DefaultStatus = http.StatusCreated
	create.Description = "A token that expires cannot make one that is valid for longer than itself."
	add(s, create, s.postToken)
	revoke := route(http.MethodDelete, "/tokens/{token}", "revoke-token", "Revoke a token, and close its connections", accessFull)
	revoke.Description = "The tokens that it made end too, and those that these made."
	add(s, revoke, s.deleteToken)
	add(s, route(http.MethodGet, "/tokens", "list-tokens", "All tokens, oldest first", accessFull), s.getTokens)
	add(s, route(http.MethodPost, "/tokens/{token}/rotate", "rotate-token",
		"Give a token a new secret, told once, and close the connections opened with the old one", accessFull), s.rotateToken)
}

func (s *Server) postToken(ctx context.Context, in *newTokenIn) (*reply[api.CreatedToken], error) {
	audit.Note(ctx, fmt.Sprintf("name %s scope %s %s life %q", in.Body.Name, in.Body.Scope, in.Body.Session, in.Body.Life))
	token, err := s.newToken(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	s.tokens.Lock()
	defer s.tokens.Unlock()
	list, err := s.Store.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	for _, other := range list {
		if other.Label == token.Label {
			return nil, problemf(api.CodeNameTaken, "there is a token %s already: revoke it first, or rotate it", token.Label)
		}
	}
	secret := store.NewSecret()
	token.Login, token.MadeBy = maker(ctx)
	if err := s.Store.CreateToken(ctx, secret, token); err != nil {
		return nil, errMaker(err)
	}
	return &reply[api.CreatedToken]{api.CreatedToken{Token: tokenView(token), Secret: secret}}, nil
}

// maker returns what made a token that the caller makes, as store.Token has it.
func maker(ctx context.Context) (login, madeBy string) {
	id, _ := caller(ctx)
	madeBy, ok := strings.CutPrefix(id.subject, "token:")
	if !ok {
		madeBy = ""
	}
	return id.login, madeBy
}

// errMaker returns the problem for a caller whose login or token ended meanwhile.
func errMaker(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return problemf(api.CodeUnauthorized, "the login or token of this request has ended, so it gets no token")
	}
	return err
}

// newToken checks the request and returns the token to store.
func (s *Server) newToken(ctx context.Context, in api.NewToken) (store.Token, error) {
	t := store.Token{ID: terminal.NewID("t"), Label: in.Name, Scope: store.Scope(in.Scope), SessionID: in.Session, CreatedAt: time.Now().UTC()}
	if (t.Scope == store.ScopeSession) != (in.Session != "") {
		return t, problemf(api.CodeBadRequest, "session: give it with the scope session, and only with that")
	}
	if in.Session != "" {
		if _, err := s.Store.Session(ctx, in.Session); err != nil {
			return t, err
		}
	}
	if in.Life != "" {
		life, err := parseDuration("life", in.Life, 0, maxTokenLife)
		if err != nil {
			return t, err
		}
		if life <= 0 {
			return t, problemf(api.CodeBadRequest, "life: it must be more than 0")
		}
		t.ExpiresAt = t.CreatedAt.Add(life)
	}
	return t, outlives(ctx, t)
}

// outlives returns the problem for a caller that would get the secret of a token that is
// valid for longer than the token of its request.
func outlives(ctx context.Context, t store.Token) error {
	id, _ := caller(ctx)
	if strings.HasPrefix(id.subject, "token:") && !id.expires.IsZero() && (t.ExpiresAt.IsZero() || t.ExpiresAt.After(id.expires)) {
		return problemf(api.CodeForbidden,
			"the token of this request expires at %s, and cannot get the secret of one that is valid for longer", id.expires.Local().Format(time.RFC3339))
	}
	return nil
}

func (s *Server) getTokens(ctx context.Context, _ *empty) (*reply[api.Tokens], error) {
	list, err := s.Store.Tokens(ctx)
	out := api.Tokens{Tokens: []api.Token{}}
	for _, t := range list {
		out.Tokens = append(out.Tokens, tokenView(t))
	}
	return &reply[api.Tokens]{out}, err
}

func (s *Server) deleteToken(ctx context.Context, in *tokenPath) (*empty, error) {
	s.tokens.Lock()
	defer s.tokens.Unlock()
	t, err := s.token(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	audit.Note(ctx, "id "+t.ID+" name "+t.Label)
	ids, err := s.Store.DeleteToken(ctx, t.ID)
	s.cutTokens(ids)
	return &empty{}, err
}

// cutTokens ends the open requests of tokens, which must be deleted by then.
func (s *Server) cutTokens(ids []string) {
	for _, id := range ids {
		s.calls.end("token:" + id)
	}
}

func (s *Server) rotateToken(ctx context.Context, in *tokenPath) (*reply[api.CreatedToken], error) {
	s.tokens.Lock()
	defer s.tokens.Unlock()
	t, err := s.token(ctx, in.Token)
	if err != nil {
		return nil, err
	}
	audit.Note(ctx, "id "+t.ID+" name "+t.Label)
	if err := outlives(ctx, t); err != nil {
		return nil, err
	}
	secret := store.NewSecret()
	login, madeBy := maker(ctx)
	if err := s.Store.RotateToken(ctx, t.ID, secret, login, madeBy); err != nil {
		return nil, errMaker(err)
	}
	if t, err = s.token(ctx, t.ID); err != nil {
		return nil, err
	}
	s.calls.end("token:" + t.ID) // this request too, if the token asks for itself
	return &reply[api.CreatedToken]{api.CreatedToken{Token: tokenView(t), Secret: secret}}, nil
}

// token returns the token with that id, else the one with that name.
func (s *Server) token(ctx context.Context, name string) (store.Token, error) {
	list, err := s.Store.Tokens(ctx)
	if err != nil {
		return store.Token{}, err
	}
	for _, is := range []func(store.Token) string{
		func(t store.Token) string { return t.ID },
		func(t store.Token) string { return t.Label },
	} {
		for _, t := range list {
			if is(t) == name {
				return t, nil
			}
		}
	}
	return store.Token{}, problemf(api.CodeNotFound, "there is no token %q; `middleman token list` names them", name)
}

func tokenView(t store.Token) api.Token {
	v := api.Token{ID: t.ID, Name: t.Label, Scope: string(t.Scope), Session: t.SessionID, CreatedAt: t.CreatedAt, Login: t.Login, MadeBy: t.MadeBy}
	if !t.ExpiresAt.IsZero() {
		v.ExpiresAt = &t.ExpiresAt
	}
	if !t.LastUsedAt.IsZero() {
		v.LastUsedAt = &t.LastUsedAt
	}
	return v
}
