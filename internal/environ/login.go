package environ

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"
)

const (
	loginTimeout = 5 * time.Second // for the login shell
	loginRetry   = time.Minute     // after one that failed
	loginAge     = time.Hour       // after which a good answer is asked for again
	maxLogin     = 1 << 20         // bytes that are read from the login shell
)

// Login is the environment that the user has after a login. It is safe for
// concurrent use. Its answer is kept until a file that login shells read has
// changed, and for an hour at most.
type Login struct {
	// read runs a login shell, and files describes the files that it reads.
	read  func(ctx context.Context, u user) ([]string, error)
	files func(u user) string
	user  func() user
	now   func() time.Time

	mu    sync.Mutex // guards the rest; held while a login shell runs
	known []string
	why   error // of the last attempt, if it failed
	seen  string
	asked time.Time
}

// NewLogin returns the login environment of the user who runs this process.
// environ says where the user's home is (HOME), and it has USER, LOGNAME and
// SHELL for a user whom the system's list of users does not have. Nothing else of
// it is used. NewLogin does no I/O.
func NewLogin(environ []string) *Login {
	find := sync.OnceValue(func() user { return findUser(environ) })
	return &Login{read: readLogin, files: startupFiles, user: find, now: time.Now}
}

// Get returns the user's login environment, less what no session gets from a
// caller. If the login shell fails or does not end in five seconds, Get returns
// what it said the last time, else what Minimum returns, and why says so.
// It runs the login shell only if there is no answer yet or it is out of date.
func (l *Login) Get(ctx context.Context) (environ []string, why error) {
	u := l.user()
	l.mu.Lock()
	defer l.mu.Unlock()
	files, limit := l.files(u), loginAge
	if l.why != nil {
		limit = loginRetry
	}
	if l.asked.IsZero() || files != l.seen || l.now().Sub(l.asked) > limit {
		l.ask(ctx, u, files)
	}
	var e Environment
	e.Set(LoginShell, u.minimum()...)
	e.Set(LoginShell, l.known...)
	return e.Entries(), l.why
}

// ask runs the login shell. If ctx ends meanwhile, nothing is learned.
func (l *Login) ask(ctx context.Context, u user, files string) {
	running, cancel := context.WithTimeoutCause(ctx, loginTimeout, errors.New("it did not end in 5 s"))
	defer cancel()
	environ, err := l.read(running, u)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		environ = Strip(environ)
		err = Check(environ)
	}
	if err == nil {
		l.known = environ
	}
	l.why, l.seen, l.asked = err, files, l.now()
}

// Minimum returns the variables that every session has: HOME, USER, LOGNAME,
// SHELL and PATH. It runs no login shell.
func (l *Login) Minimum() []string { return l.user().minimum() }

// user is what the system knows of a user.
type user struct {
	Name, Home, Shell string
	environ           []string // see NewLogin
}

// minimum returns the variables that a login sets before any shell runs.
func (u user) minimum() []string {
	var list []string
	for _, v := range [][2]string{{"HOME", u.Home}, {"USER", u.Name}, {"LOGNAME", u.Name}, {"SHELL", u.Shell}, {"PATH", defaultPath}} {
		if v[1] != "" {
			list = append(list, v[0]+"="+v[1])
		}
	}
	return list
}

// completed returns u with what it lacks from its environ.
func (u user) completed() user {
	u.Name = cmp.Or(u.Name, Lookup(u.environ, "USER"), Lookup(u.environ, "LOGNAME"), "user")
	u.Home = cmp.Or(Lookup(u.environ, "HOME"), u.Home)
	return u
}
