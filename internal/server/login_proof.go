package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	"middleman/internal/api"
	"middleman/internal/store"
)

const (
	// nonceLife is how long a browser may take to sign.
	nonceLife  = time.Minute
	scalarSize = 32 // bytes of r and of s in a signature
)

// parseLoginKey reads a browser's public key, as WebCrypto exports it raw.
func parseLoginKey(raw []byte) (*ecdsa.PublicKey, error) {
	key, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return nil, errors.New("it must be an uncompressed point of P-256")
	}
	return key, nil
}

// verify reports whether signature, as WebCrypto makes it, is key's of text.
func verify(key *ecdsa.PublicKey, text string, signature []byte) bool {
	if len(signature) != 2*scalarSize {
		return false
	}
	sum := sha256.Sum256([]byte(text))
	r, s := new(big.Int).SetBytes(signature[:scalarSize]), new(big.Int).SetBytes(signature[scalarSize:])
	return ecdsa.Verify(key, sum[:], r, s)
}

// sign is what verify takes.
func sign(key *ecdsa.PrivateKey, text string) ([]byte, error) {
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, key, sum[:])
	if err != nil {
		return nil, fmt.Errorf("sign: %w", err)
	}
	out := make([]byte, 2*scalarSize)
	r.FillBytes(out[:scalarSize])
	s.FillBytes(out[scalarSize:])
	return out, nil
}

// browserText is what a browser signs, and serverText what the server does.
// None of the parts can hold a line's end: ids, nonces and the instance are
// ours or compared with what is, a Host header cannot, and clientNonce is last.
func browserText(instance, origin, login, nonce string) string {
	return strings.Join([]string{"middleman login v1", instance, origin, login, nonce}, "\n")
}

func serverText(instance, origin, login, nonce, clientNonce string) string {
	return strings.Join([]string{"middleman server v1", instance, origin, login, nonce, clientNonce}, "\n")
}

// serverKey is the server's own, which it keeps for the servers after it.
func (l *logins) serverKey(ctx context.Context, db *store.Store) (*ecdsa.PrivateKey, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != nil {
		return l.key, nil
	}
	der, err := db.ServerKey(ctx, func() ([]byte, error) {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		return x509.MarshalECPrivateKey(key)
	})
	if err != nil {
		return nil, err
	}
	if l.key, err = x509.ParseECPrivateKey(der); err != nil {
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

// newNonce makes a nonce for one login. It is not kept: it carries its time
// and a code that only this server can make, so that strangers who ask for
// nonces push nobody else's out. Only used ones are kept, see spend.
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

// parseNonce returns until when a nonce of newNonce holds, and whether it is
// one, of that login.
func (l *logins) parseNonce(text, login string) (until time.Time, ok bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	// A decoder passes over line ends, and a nonce with one would be another.
	if err != nil || strings.ContainsAny(text, "\r\n") || len(raw) != nonceSize+sha256.Size || !hmac.Equal(raw[nonceSize:], l.code(raw[:nonceSize], login)) {
		return time.Time{}, false
	}
	return time.Unix(0, int64(binary.BigEndian.Uint64(raw))), true
}

// spend uses a nonce up. The caller has checked the signature: only who has a
// login can add to the nonces that are kept, for a minute each.
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

// postChallenge proves who the server is and gives a nonce to sign.
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
	signature, err := sign(key, serverText(s.options.Instance, login.Origin, login.ID, nonce, in.Body.Nonce))
	return &reply[api.LoginNonce]{api.LoginNonce{Nonce: nonce, Signature: signature}}, err
}

type proofIn struct {
	visitor
	Body api.LoginProof
}

// postAccess gives an access token for a signed nonce.
func (s *Server) postAccess(ctx context.Context, in *proofIn) (*reply[api.Access], error) {
	login, err := s.login(ctx, in.Body.Login, in.visitor)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	until, ours := s.logins.parseNonce(in.Body.Nonce, login.ID)
	key, err := parseLoginKey(login.Key)
	if err != nil {
		return nil, fmt.Errorf("key of login %s in the database: %w", login.ID, err)
	}
	text := browserText(s.options.Instance, login.Origin, login.ID, in.Body.Nonce)
	if !ours || !verify(key, text, in.Body.Signature) || !s.logins.spend(in.Body.Nonce, until, now) {
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
	// It may have been revoked meanwhile, before there was a token to drop.
	if _, err := s.login(ctx, login.ID, in.visitor); err != nil {
		s.logins.drop(loginSubject(login.ID))
		return nil, err
	}
	return &reply[api.Access]{api.Access{Token: token, ExpiresIn: int(accessLife.Seconds())}}, nil
}
