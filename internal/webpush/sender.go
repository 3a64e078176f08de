package webpush

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"middleman/internal/api"
	"middleman/internal/es256"
	"middleman/internal/store"
)

const (
	// maxNotices is how many notices wait for Run. Further ones are dropped.
	maxNotices = 16
	// maxItems is how many items wait for a subscription whose service takes none.
	// Beyond it the oldest are dropped.
	maxItems    = 32
	maxRequests = 4 // at once
	// pause is how long a service is left alone that has failed and does not say.
	pause = 30 * time.Second
)

// Store keeps the key and the subscriptions. *store.Store implements it.
type Store interface {
	Key(ctx context.Context, name string, generate func() ([]byte, error)) ([]byte, error)
	Subscriptions(ctx context.Context, now time.Time) ([]store.Subscription, error)
	DeleteSubscription(ctx context.Context, login, endpoint string) error
}

// Sender sends notices to all subscriptions. Make one with New. It is safe for
// concurrent use.
type Sender struct {
	store   Store
	private bool
	log     *slog.Logger
	client  *http.Client
	notices chan api.Notice
	waiting map[string]*queue // by login; Run alone uses it

	// mu guards the fields below.
	mu       sync.Mutex
	key      *ecdsa.PrivateKey // nil until it is first needed
	failures map[string]string // by login: why the last message was not taken
}

// queue has what waits for one subscription.
type queue struct {
	items []waitingItem
	// until is the time before which its service wants no request.
	until time.Time
}

type waitingItem struct {
	api.NoticeItem
	came time.Time
}

// New returns a Sender. private is that of Check. It sends nothing until Run is called.
func New(s Store, private bool, log *slog.Logger) *Sender {
	return &Sender{
		store: s, private: private, log: log, client: newClient(private),
		notices: make(chan api.Notice, maxNotices), waiting: map[string]*queue{}, failures: map[string]string{},
	}
}

// PublicKey returns the key by which push services know this server, for the browser
// that subscribes. The first call ever makes it.
func (s *Sender) PublicKey(ctx context.Context) ([]byte, error) {
	key, err := s.privateKey(ctx)
	if err != nil {
		return nil, err
	}
	return key.PublicKey.Bytes()
}

func (s *Sender) privateKey(ctx context.Context) (*ecdsa.PrivateKey, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.key != nil {
		return s.key, nil
	}
	der, err := s.store.Key(ctx, store.PushKey, es256.Generate)
	if err != nil {
		return nil, err
	}
	if s.key, err = es256.Parse(der); err != nil {
		return nil, fmt.Errorf("key for push services in the database: %w", err)
	}
	return s.key, nil
}

// Failure returns why the last message to a login's subscription was not taken, ""
// if it was.
func (s *Sender) Failure(login string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failures[login]
}

// note records what became of a message.
func (s *Sender) note(login string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.failures, login)
	if err != nil {
		s.failures[login] = err.Error()
		s.log.Warn("a notice was not pushed", "login", login, "error", err)
	}
}

// Tell sends a notice to all subscriptions. It does not block.
func (s *Sender) Tell(n api.Notice) {
	select {
	case s.notices <- n:
	default:
		s.log.Warn("a notice is not pushed: too many wait")
	}
}

// Run sends until ctx ends. What waits then is lost.
func (s *Sender) Run(ctx context.Context) {
	defer s.client.CloseIdleConnections()
	retry := time.NewTimer(0)
	defer retry.Stop()
	for {
		var items []api.NoticeItem
		select {
		case n := <-s.notices:
			items = n.Items
		case <-retry.C:
		case <-ctx.Done():
			return
		}
		next, err := s.send(ctx, items)
		if err != nil && ctx.Err() == nil {
			s.log.Error("push notices", "error", err)
		}
		retry.Stop()
		if !next.IsZero() {
			retry.Reset(time.Until(next))
		}
	}
}

// send sends items, and what waits, to all subscriptions that take some now. It returns
// when others will, zero for none.
func (s *Sender) send(ctx context.Context, items []api.NoticeItem) (next time.Time, err error) {
	if len(items) == 0 && len(s.waiting) == 0 {
		return next, nil
	}
	now := time.Now()
	list, err := s.store.Subscriptions(ctx, now)
	if err != nil || len(list) == 0 {
		clear(s.waiting)
		return next, err
	}
	key, err := s.privateKey(ctx)
	if err != nil {
		return next, err
	}
	s.enqueue(list, items, now)
	var g errgroup.Group
	g.SetLimit(maxRequests)
	for _, to := range list {
		if q := s.waiting[to.Login]; q != nil && len(q.items) > 0 && !now.Before(q.until) {
			g.Go(func() error { s.deliver(ctx, key, to, q); return nil })
		}
	}
	_ = g.Wait() // no error
	for login, q := range s.waiting {
		switch {
		case len(q.items) == 0 && !q.until.After(now):
			delete(s.waiting, login)
		case len(q.items) > 0 && (next.IsZero() || q.until.Before(next)):
			next = q.until
		}
	}
	return next, nil
}

// enqueue adds items to what waits for each subscription, and forgets what is too old
// and who is gone.
func (s *Sender) enqueue(list []store.Subscription, items []api.NoticeItem, now time.Time) {
	before := s.waiting
	s.waiting = map[string]*queue{}
	for _, to := range list {
		q := before[to.Login]
		if q == nil {
			q = &queue{}
		}
		s.waiting[to.Login] = q
		for len(q.items) > 0 && now.Sub(q.items[0].came) > keep {
			q.items = q.items[1:]
		}
		for _, item := range items {
			q.items = append(q.items, waitingItem{item, now})
		}
		q.items = q.items[max(0, len(q.items)-maxItems):]
	}
}

// deliver sends all that waits for a subscription, as one message. What its service
// refuses for good is dropped.
func (s *Sender) deliver(ctx context.Context, key *ecdsa.PrivateKey, to store.Subscription, q *queue) {
	var items []api.NoticeItem
	for _, item := range q.items {
		items = append(items, item.NoticeItem)
	}
	endpoint, err := parseEndpoint(to.Endpoint, s.private)
	if err != nil { // the setting has changed
		q.items = nil
		s.note(to.Login, err)
		return
	}
	got, err := post(ctx, s.client, key, to, endpoint, text(items, to.Content))
	if ctx.Err() != nil {
		return
	}
	later := err != nil || got.status == http.StatusTooManyRequests || got.status >= http.StatusInternalServerError
	if later {
		q.until = time.Now().Add(cmp.Or(got.retryAfter, pause))
	} else {
		q.items = nil
	}
	switch {
	case err != nil:
	case got.status == http.StatusNotFound || got.status == http.StatusGone:
		if err = s.store.DeleteSubscription(ctx, to.Login, to.Endpoint); errors.Is(err, store.ErrNotFound) {
			err = nil
		}
	case got.status/100 != 2:
		err = fmt.Errorf("push service %s answered with status %d", endpoint.Host, got.status)
	}
	s.note(to.Login, err)
}
