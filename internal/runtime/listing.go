package runtime

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"middleman/internal/api"
	"middleman/terminal"
)

const (
	// listTime bounds the reading of all lists of a remote.
	listTime = 30 * time.Second
	// maxListing bounds the bytes of all lists of a remote, maxPages their pages.
	maxListing = 8 << 20
	maxPages   = 64
	pageSize   = 500
)

// Listing is what a remote has, as it said at a time.
type Listing struct {
	Workspaces []api.Workspace
	Sessions   []api.Session
	AsOf       time.Time // zero if it has never told
}

// reading is a reading of all lists that goes on.
type reading struct {
	done   chan struct{}
	cancel context.CancelFunc
}

// List returns what the remote has. It waits at most for patience; then, or if the
// remote cannot be used, it returns what the remote had when it last told, and false.
// The reading goes on meanwhile, so that a remote that is slow to reach is reached by
// the next call.
func (r *Remote) List(ctx context.Context, patience time.Duration) (Listing, bool) {
	began := time.Now()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		running, started := r.read()
		if running == nil {
			break // the remote was closed
		}
		select {
		case <-running.done:
			if !started {
				continue // it may be older than what the caller has done
			}
		case <-late.C:
		case <-ctx.Done():
		}
		break
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.listing
	return l, !l.AsOf.Before(began)
}

// read returns the reading that goes on, or starts one. started tells which. It
// returns nil after close.
func (r *Remote) read() (running *reading, started bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.reading != nil || r.closed {
		return r.reading, false
	}
	ctx, cancel := context.WithTimeout(context.Background(), listTime)
	running = &reading{done: make(chan struct{}), cancel: cancel}
	r.reading = running
	r.background.Go(func() {
		defer close(running.done)
		defer cancel()
		l, err := r.list(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.reading = nil; err == nil {
			l.AsOf = time.Now().UTC()
			r.listing = l
		}
	})
	return running, true
}

// list reads all lists.
func (r *Remote) list(ctx context.Context) (l Listing, err error) {
	left := maxListing
	err = r.pages(ctx, "/workspaces", url.Values{"status": {"1"}, "limit": {strconv.Itoa(pageSize)}}, func(path string) (string, error) {
		var page api.Workspaces
		err := r.page(ctx, path, &left, &page)
		if err == nil {
			err = r.ofPage(ctx, len(page.Workspaces))
		}
		l.Workspaces = append(l.Workspaces, page.Workspaces...)
		return page.Next, err
	})
	if err == nil {
		err = r.pages(ctx, "/sessions", url.Values{"limit": {strconv.Itoa(pageSize)}}, func(path string) (string, error) {
			var page api.Sessions
			err := r.page(ctx, path, &left, &page)
			if err == nil {
				err = r.ofPage(ctx, len(page.Sessions))
			}
			l.Sessions = append(l.Sessions, page.Sessions...)
			return page.Next, err
		})
	}
	return l, err
}

// pages calls page for each page of a list.
func (r *Remote) pages(ctx context.Context, path string, query url.Values, page func(path string) (string, error)) error {
	for range maxPages {
		next, err := page(path + "?" + query.Encode())
		if err != nil || next == "" {
			return err
		}
		query.Set("cursor", next)
	}
	return r.lost(ctx, &Error{Reason: TooMuch, Cause: fmt.Errorf("%s has more than %d pages", path, maxPages)})
}

// page reads one page, of at most left bytes, which it counts.
func (r *Remote) page(ctx context.Context, path string, left *int, out any) error {
	resp, err := r.Open(ctx, http.MethodGet, path, nil, nil)
	if err != nil {
		return err
	}
	n, err := r.decodeUpTo(resp, out, *left)
	if *left -= n; err != nil {
		return r.lost(ctx, err)
	}
	tidy(r.config.Name, out, false)
	return nil
}

// ofPage returns an error if a page has more items than were asked for.
func (r *Remote) ofPage(ctx context.Context, n int) error {
	if n <= pageSize {
		return nil
	}
	return r.lost(ctx, &Error{Reason: TooMuch, Cause: fmt.Errorf("a page has %d items, more than the %d that were asked for", n, pageSize)})
}

// Told returns the description of a remote and of what it has, for clients. Of an
// answer that is not current the sessions are unreachable, unless they had ended.
func Told(view api.Runtime, l Listing, current bool) api.RuntimeList {
	out := api.RuntimeList{RuntimeAnswer: api.RuntimeAnswer{Runtime: view, Current: current}, Workspaces: []api.Workspace{}, Sessions: []api.Session{}}
	if !l.AsOf.IsZero() {
		out.AsOf = &l.AsOf
	}
	out.Workspaces = append(out.Workspaces, l.Workspaces...)
	for _, s := range l.Sessions {
		if !current && !s.State.Ended() {
			s.State, s.Agent, s.Writer, s.Unseen = terminal.StateUnreachable, nil, nil, nil
			judge(&s)
		}
		out.Sessions = append(out.Sessions, s)
	}
	return out
}

// View describes a remote for clients, without its address.
func View(c Config, status Status) api.Runtime {
	v := api.Runtime{
		Name: c.Name, Kind: c.Kind(), State: string(status.State), Reason: string(status.Reason), Detail: status.Text,
		Version: status.Version, Since: status.Since,
	}
	if !status.Checked.IsZero() {
		v.CheckedAt = &status.Checked
	}
	return v
}
