package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/es256"
	"middleman/internal/store"
)

// nonceLife is how long a browser may take to sign a nonce.
const nonceLife = time.Minute

// browserText returns the text that a browser signs; serverText, the text that
// the server signs. No part but the last can contain a newline: the server made
// the ids, nonces and the instance, or has compared them with its own, and the
// origin comes from a Host header. clientNonce may contain any, so it is last.
func browserText(instance, origin, login, nonce string) string {
	return strings.Join([]string{"middleman login v1", instance, origin, login, nonce}, "\n")
}

func serverText(instance, origin, login, nonce, clientNonce string) string {
	return strings.Join([]string{"middleman server v1", instance, origin, login, nonce, clientNonce}, "\n")
}

// serverKey returns the server's own key. The first call ever makes it; the
// store keeps it for later servers.
func (l *logins) serverKey(ctx context.Context, db *store.Store) (*ecdsa.PrivateKey, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != nil {
		return l.key, nil
	}
	der, err := db.Key(ctx, store.ServerKey, es256.Generate)
	if err != nil {
		return nil, err
	}
	if l.key, err = es256.Parse(der); err != nil {
		return nil, fmt.Errorf("server's key in the database: %w", err)
	}
	return l.key, nil
}

func (l *logins) publicKey(ctx context.Context, db *store.Store) ([]byte, error) {
	key, err := l.serverKey(ctx, db)
	if err != nil {
		return nil, err
	}
	return key.PublicKey.Bytes()
}

// newNonce makes a nonce for one login. The server does not store it: the nonce
// contains its expiry and a MAC that only this server can make. So strangers who
// ask for nonces cannot push out those of others. Used ones are kept; see spend.
func (l *logins) newNonce(login string, now time.Time) string {
	nonce := binary.BigEndian.AppendUint64(nil, uint64(now.Add(nonceLife).UnixNano()))
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	nonce = append(nonce, random...)
	return base64.RawURLEncoding.EncodeToString(append(nonce, l.code(nonce, login)...))
}

const nonceSize = 8 + 16

func (l *logins) code(nonce []byte, login string) []byte {
	mac := hmac.New(sha256.New, l.secret[:])
	mac.Write(nonce)
	mac.Write([]byte(login))
	return mac.Sum(nil)
}

// parseNonce returns when a nonce expires; ok is false if newNonce did not make
// it for that login.
func (l *logins) parseNonce(text, login string) (until time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	// The decoder ignores newlines, and a nonce with one would count as unused.
	if err != nil || strings.ContainsAny(text, "\r\n") || len(raw) != nonceSize+sha256.Size || !hmac.Equal(raw[nonceSize:], l.code(raw[:nonceSize], login)) {
		return time.Time{}, false
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(raw))), true
}

// spend uses up a nonce, and reports false if it was used before, has expired, or
// too many are kept. The caller must have checked the signature, so that only
// holders of logins can add to the nonces that are kept, for a minute each.
func (l *logins) spend(nonce string, until, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for used, until := range l.spent {
		if now.After(until) {
			delete(l.spent, used)
		}
	}
	if _, used := l.spent[nonce]; used || now.After(until) || len(l.spent) >= maxSpent {
		return false
	}
	l.spent[nonce] = until
	return true
}

type challengeIn struct {
	visitor
	Body api.LoginChallenge
}

// postChallenge answers with a nonce to sign, and with the server's signature,
// which proves that the server is the one that made the login.
func (s *Server) postChallenge(ctx context.Context, in *challengeIn) (*reply[api.LoginNonce], error) {
	login, err := s.login(ctx, in.Body.Login, in.visitor)
	if err != nil {
		return nil, err
	}
	key, err := s.logins.serverKey(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	nonce := s.logins.newNonce(login.ID, time.Now())
	signature, err := es256.Sign(key, serverText(s.options.Instance, login.Origin, login.ID, nonce, in.Body.Nonce))
	return &reply[api.LoginNonce]{api.LoginNonce{Nonce: nonce, Signature: signature}}, err
}

type proofIn struct {
	visitor
	Body api.LoginProof
}

// postAccess answers with an access token for a signed nonce.
func (s *Server) postAccess(ctx context.Context, in *proofIn) (*reply[api.Access], error) {
	login, err := s.login(ctx, in.Body.Login, in.visitor)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	until, ours := s.logins.parseNonce(in.Body.Nonce, login.ID)
	key, err := es256.ParsePublic(login.Key)
	if err != nil {
		return nil, fmt.Errorf("key of login %s in the database: %w", login.ID, err)
	}
	text := browserText(s.options.Instance, login.Origin, login.ID, in.Body.Nonce)
	if !ours || !es256.Verify(key, text, in.Body.Signature) || !s.logins.spend(in.Body.Nonce, until, now) {
		return nil, problemf(api.CodeUnauthorized,
			"the signature is not this login's, or its nonce was used or has expired")
	}
	idle := now.Add(s.options.LoginIdle)
	err = s.Store.UseLogin(ctx, login.ID, now, idle)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errLoginOver()
	}
	if err != nil {
		return nil, err
	}
	s.holdPort(ctx)
	token := s.logins.grant(login, idle, now, s.cut)
	// The login may have been revoked meanwhile, before there was a token to drop.
	if _, err := s.login(ctx, login.ID, in.visitor); err != nil {
		s.logins.drop(loginSubject(login.ID))
		return nil, err
	}
	return &reply[api.Access]{api.Access{Token: token, ExpiresIn: int(accessLife.Seconds())}}, nil
}
