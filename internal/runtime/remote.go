package runtime

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
)

const (
	// checkTimeout bounds the first call on a remote, which asks for its version.
	checkTimeout = 20 * time.Second
	// maxAnswer bounds the JSON of one answer.
	maxAnswer = 16 << 20
	// maxVersion bounds that of a version, whose features are kept.
	maxVersion = 64 << 10
	// firstPause and lastPause bound the time after a failure in which calls fail
	// at once, so that many callers do not dial a dead remote all the time.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// Remote is a remote runtime. Its methods are safe for concurrent use. All errors
// of calls are *Error, *Refusal, or the caller's own end of the context.
type Remote struct {
	config    Config
	dialer    dialer
	transport *http.Transport
	log       *slog.Logger
	changed   func(Config, Status)
	patience  time.Duration // checkTimeout, in a test less

	mu       sync.Mutex // guards the fields below
	status   Status
	features []string // of the remote, while it is reachable
	failure  *Error   // the last one, nil while it is reachable
	pause    time.Duration
	// left has the writers that were attachments of ours, see session.Attach.
	left    map[string]time.Time
	listing Listing  // the last one
	reading *reading // the one that goes on, or nil
	closed  bool

	background sync.WaitGroup // of readings
}

// newRemote returns a remote. changed is called, with a lock held, when its state or
// its reason has changed.
func newRemote(c Config, d dialer, log *slog.Logger, changed func(Config, Status)) *Remote {
	r := &Remote{config: c, dialer: d, log: log, changed: changed, patience: checkTimeout, left: map[string]time.Time{}}
	r.status = Status{State: Unknown, Since: time.Now().UTC()}
	r.transport = &http.Transport{
		DialContext:            func(ctx context.Context, _, _ string) (net.Conn, error) { return d.Dial(ctx) },
		MaxIdleConnsPerHost:    4,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		WriteBufferSize:        32 << 10,
		ReadBufferSize:         32 << 10,
	}
	return r
}

// Config returns how the remote is reached.
func (r *Remote) Config() Config { return r.config }

// Status returns what is known of the remote, without asking it.
func (r *Remote) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Check asks the remote for its version, whatever the last call told.
func (r *Remote) Check(ctx context.Context) Status {
	r.mu.Lock()
	r.pause = 0
	r.mu.Unlock()
	if c, err := r.client(); err != nil {
		r.Failed(err)
	} else {
		_ = r.greet(ctx, c) // the status tells
	}
	return r.Status()
}

func (r *Remote) close() {
	r.mu.Lock()
	r.closed = true
	if r.reading != nil {
		r.reading.cancel()
	}
	r.mu.Unlock()
	r.background.Wait()
	r.transport.CloseIdleConnections()
	if err := r.dialer.Close(); err != nil {
		r.log.Info("close a runtime", "runtime", r.config.Name, "error", err)
	}
}

func (r *Remote) client() (*client.Client, error) {
	token, err := r.dialer.Token()
	if err != nil {
		return nil, err
	}
	return client.NewRemote(r.transport, r.dialer.Origin(), token), nil
}

// ready returns a client, once the remote has told its version. After a failure
// it returns that failure for a while.
func (r *Remote) ready(ctx context.Context) (*client.Client, error) {
	r.mu.Lock()
	failure, known := r.failure, r.status.State == Reachable
	wait := failure != nil && time.Since(r.status.Checked) < r.pause
	r.mu.Unlock()
	if wait {
		return nil, unsent(failure)
	}
	c, err := r.client()
	if err != nil {
		return nil, r.Failed(err)
	}
	if !known {
		if err := r.greet(ctx, c); err != nil {
			return nil, unsent(err)
		}
	}
	return c, nil
}

// unsent returns the error for a request that was not even begun, because another one
// failed with err.
func unsent(err error) error {
	e, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	before := *e
	before.Sent = false
	return &before
}

// greet asks for the version and the features. An API of which this build knows no
// version is refused.
func (r *Remote) greet(ctx context.Context, c *client.Client) error {
	within, cancel := context.WithTimeout(ctx, r.patience)
	defer cancel()
	resp, err := c.Do(within, http.MethodGet, "/version", nil, nil)
	if err != nil {
		return r.lost(ctx, err)
	}
	var v api.Version
	if _, err := r.decodeUpTo(resp, &v, maxVersion); err != nil {
		if refused, ok := errors.AsType[*Refusal](err); ok {
			reason := BadProtocol
			if refused.Code == api.CodeUnauthorized || refused.Code == api.CodeForbidden {
				reason = BadToken
			}
			err = &Error{Reason: reason, Cause: err}
		}
		return r.lost(ctx, err)
	}
	if reason := skew(v.OldestAPI, v.API, api.Oldest, api.Current); reason != "" {
		return r.Failed(&Error{Reason: reason, Cause: fmt.Errorf("it speaks the API %d to %d, this build %d to %d", v.OldestAPI, v.API, api.Oldest, api.Current)})
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.features = v.Features
	r.answered(v.Version)
	return nil
}

// skew returns "" if two ranges of versions have one in common: theirs, and ours.
// Otherwise it says what the others are.
func skew(oldest, newest, ourOldest, ourNewest int) Reason {
	switch {
	case newest < ourOldest || newest < oldest:
		return Older
	case oldest > ourNewest:
		return Newer
	}
	return ""
}

// answered is called with mu held.
func (r *Remote) answered(version string) {
	now := time.Now().UTC()
	anew := r.status.State != Reachable
	if anew {
		r.status = Status{State: Reachable, Since: now, Version: r.status.Version}
	}
	if version != "" {
		r.status.Version = fmt.Sprintf("%.64s", plaintext.Line(version))
	}
	r.status.Checked = now
	if r.failure, r.pause = nil, 0; anew {
		r.changed(r.config, r.status)
	}
}

// lost returns the error of a call that failed: the caller's own if ctx has ended.
func (r *Remote) lost(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if refused, ok := errors.AsType[*Refusal](err); ok && refused.Code != api.CodeUnauthorized {
		return err // that is an answer
	}
	return r.Failed(err)
}

// Failed records why the remote cannot be used.
func (r *Remote) Failed(err error) *Error {
	reason := NoAnswer
	if _, ok := errors.AsType[*Refusal](err); ok {
		reason = BadToken
	}
	e := because(err, reason)
	e.Runtime = r.config.Name
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now().UTC()
	if r.failure == nil || r.failure.Reason != e.Reason {
		r.log.Info("a runtime cannot be used", "runtime", e.Runtime, "reason", e.Reason, "error", e.Cause)
	}
	anew := r.status.State != e.State() || r.status.Reason != e.Reason
	if anew {
		r.status.Since = now
	}
	r.status.State, r.status.Reason, r.status.Text, r.status.Checked = e.State(), e.Reason, reasons[e.Reason].text, now
	if anew {
		r.changed(r.config, r.status)
	}
	r.failure = e
	r.pause = min(max(2*r.pause, firstPause), lastPause)
	return e
}

// Has reports whether the remote has told that it has a feature.
func (r *Remote) Has(feature string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.features, feature)
}

// explained is the key of Explained.
type explained struct{}

// Explained returns a context in which Call passes explanations of the remote on. It is
// for the user of this machine alone: they may name paths there.
func Explained(ctx context.Context) context.Context {
	return context.WithValue(ctx, explained{}, true)
}

func isExplained(ctx context.Context) bool { return ctx.Value(explained{}) != nil }

// Call sends a request and decodes the answer into out, unless that is nil. What
// the answer explains is replaced by our words, but see Explained. limit bounds the call.
func (r *Remote) Call(ctx context.Context, method, path string, header http.Header, body []byte, limit time.Duration, out any) error {
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	resp, err := r.Open(within, method, path, header, bytes.NewReader(body))
	if err == nil {
		if err = r.decode(resp, out); err == nil {
			tidy(r.config.Name, out, isExplained(ctx))
			return nil
		}
		err = r.lost(within, err)
	}
	if within.Err() != nil && ctx.Err() == nil {
		return r.Failed(&Error{Reason: TimedOut, Sent: true, Cause: context.DeadlineExceeded})
	}
	return err
}

// Open sends a request and returns the answer, which is a success and whose body
// the caller closes. ctx bounds the body too.
func (r *Remote) Open(ctx context.Context, method, path string, header http.Header, body io.Reader) (*http.Response, error) {
	c, err := r.ready(ctx)
	if err != nil {
		return nil, err
	}
	resp, err := c.Do(ctx, method, path, header, body)
	if err != nil {
		return nil, r.lost(ctx, err)
	}
	if resp.StatusCode >= 300 {
		return nil, r.lost(ctx, r.decode(resp, nil))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answered("")
	return resp, nil
}

// decode reads an answer and closes it. A refusal is a *Refusal.
func (r *Remote) decode(resp *http.Response, out any) error {
	_, err := r.decodeUpTo(resp, out, maxAnswer)
	return err
}

// decodeUpTo is decode for an answer of at most limit bytes. It returns how many it
// has.
func (r *Remote) decodeUpTo(resp *http.Response, out any, limit int) (int, error) {
	defer resp.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(resp.Body, int64(limit)+1))
	switch {
	case err != nil:
		e := because(err, NoAnswer)
		e.Sent = true
		return len(raw), e
	case len(raw) > limit:
		return len(raw), &Error{Reason: TooMuch, Sent: true, Cause: fmt.Errorf("an answer has more than %d bytes", limit)}
	case items(raw) > maxItems:
		return len(raw), &Error{Reason: TooMuch, Sent: true, Cause: fmt.Errorf("an answer has more than %d items", maxItems)}
	case resp.StatusCode >= 300:
		return len(raw), newRefusal(r.config.Name, resp.StatusCode, raw)
	case out == nil || resp.StatusCode == http.StatusNoContent:
		return len(raw), nil
	}
	if err := client.Decode(raw, out); err != nil {
		return len(raw), &Error{Reason: BadProtocol, Sent: true, Cause: err}
	}
	return len(raw), nil
}
