package server

import (
	"net/http"
	"sync"
	"time"
)

const (
	maxGuesses    = 20              // wrong secrets at once from one address
	guessEvery    = 2 * time.Second // one more is allowed after each of these
	maxGuessHosts = 1024            // addresses remembered; over it all are forgotten
)

// limiter slows down guessing of tokens and login links. Cookies are left
// out, so that nobody can lock a browser out that has logged in.
type limiter struct {
	// mu guards wrong.
	mu    sync.Mutex
	wrong map[string]guesses
}

type guesses struct {
	count float64 // leaks one each guessEvery
	at    time.Time
}

func newLimiter() *limiter { return &limiter{wrong: map[string]guesses{}} }

func (g guesses) now(now time.Time) float64 {
	return max(0, g.count-now.Sub(g.at).Seconds()/guessEvery.Seconds())
}

// allows reports whether a secret from that address may be looked at.
func (l *limiter) allows(from string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.wrong[from].now(now) < maxGuesses
}

// failed notes a wrong secret.
func (l *limiter) failed(from string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.wrong) >= maxGuessHosts {
		clear(l.wrong)
	}
	l.wrong[from] = guesses{count: l.wrong[from].now(now) + 1, at: now}
}

func errTooManyGuesses() *Problem {
	return problemf(http.StatusTooManyRequests, codeTooMany, "too many wrong secrets from this address: wait %s", guessEvery)
}
