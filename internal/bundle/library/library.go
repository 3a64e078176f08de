// Package library stores bundles and finds them again. Each content that it gives out
// was read strictly and has the digest that was asked for.
package library

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"middleman/internal/agent"
	"middleman/internal/api"
	"middleman/internal/bundle"
	"middleman/internal/store"
)

// Library has the bundles of one store. It is safe for concurrent use.
type Library struct {
	Store *store.Store
	// Profiles are the user's own, which may be profiles of bundles.
	Profiles map[string]agent.Definition
	// changing is held while bundles are added and removed.
	changing sync.Mutex
	// mu guards newest.
	mu sync.Mutex
	// newest has the newest revision of each id; nil until it was read.
	newest map[string]api.Moved
}

// broken makes an error of the store one of bundles.
func broken(err error) error {
	if err == nil || errors.Is(err, store.ErrBadCursor) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if _, ok := errors.AsType[*bundle.Error](err); ok {
		return err
	}
	return bundle.Errorf(bundle.ErrStore, "the store of bundles cannot be used (%v): what runs goes on; restore a backup of the database, or remove it and push the bundles again", err)
}

// Push reads a bundle and stores it. What is stored already is left as it is.
func (l *Library) Push(ctx context.Context, raw []byte) (api.PushedBundle, error) {
	b, err := bundle.Decode(raw)
	if err != nil {
		return api.PushedBundle{}, err
	}
	l.changing.Lock()
	defer l.changing.Unlock()
	row := store.Bundle{Digest: b.Sum(), ID: b.ID, Revision: b.Revision, Content: b.Canonical(), StoredAt: time.Now().UTC()}
	added, err := l.Store.AddBundle(ctx, row)
	if errors.Is(err, store.ErrRevisionTaken) {
		return api.PushedBundle{}, &bundle.Error{Kind: bundle.ErrChanged, Field: "revision", Text: fmt.Sprintf(
			"bundle %s has a revision %d with another content already: give the changed bundle a higher revision", b.ID, b.Revision)}
	}
	if err != nil {
		return api.PushedBundle{}, broken(err)
	}
	l.forgetNewest()
	if row, err = l.Store.Bundle(ctx, row.Digest); err != nil {
		return api.PushedBundle{}, broken(err)
	}
	view := l.view(ctx, row)
	return api.PushedBundle{Bundle: view, New: added}, nil
}

// read returns the content of a row, if that is what it was when it was stored.
func read(row store.Bundle) (bundle.Bundle, error) {
	b, err := bundle.Decode(row.Content)
	switch {
	case err != nil:
		return b, bundle.Errorf(bundle.ErrStore, "what is stored of bundle %s, revision %d, is damaged (%v): push it again", row.ID, row.Revision, err)
	case b.Sum() != row.Digest || b.ID != row.ID || b.Revision != row.Revision:
		return b, bundle.Errorf(bundle.ErrStore, "what is stored of bundle %s, revision %d, is damaged (its content has the digest %s): push it again", row.ID, row.Revision, b.Sum())
	}
	return b, nil
}

// view returns a row in the form for clients, without its content and users.
func (l *Library) view(ctx context.Context, row store.Bundle) api.Bundle {
	v := api.Bundle{ID: row.ID, Revision: row.Revision, Digest: row.Digest, StoredAt: row.StoredAt, Profiles: []string{}}
	if newest, err := l.newestOf(ctx, row.ID); err == nil {
		v.Newest = newest.Digest == row.Digest
	}
	b, err := read(row)
	if err != nil {
		v.Problem = err.Error()
		return v
	}
	v.Workspace, v.Created = b.Workspace, b.Created
	v.Profiles = slices.Sorted(maps.Keys(b.Profiles))
	return v
}

// List returns a page of bundles in the order in which they were stored.
func (l *Library) List(ctx context.Context, p store.Page) (api.Bundles, error) {
	rows, next, err := l.Store.Bundles(ctx, p)
	if err != nil {
		return api.Bundles{}, broken(err)
	}
	out := api.Bundles{Bundles: []api.Bundle{}, Next: next}
	for _, row := range rows {
		out.Bundles = append(out.Bundles, l.view(ctx, row))
	}
	return out, nil
}

// find returns the row with that id and digest, of the newest revision if digest is "".
func (l *Library) find(ctx context.Context, id, digest string) (store.Bundle, error) {
	if !bundle.ValidID(id) {
		return store.Bundle{}, bundle.Errorf(bundle.ErrMissing, "%q cannot be the id of a bundle: `middleman bundle list` lists them", id)
	}
	if digest != "" && !bundle.ValidDigest(digest) {
		return store.Bundle{}, bundle.Errorf(bundle.ErrDigest, "%q is no digest: it must be 64 lower-case hexadecimal digits", digest)
	}
	rows, err := l.Store.Revisions(ctx, id)
	if err != nil {
		return store.Bundle{}, broken(err)
	}
	if len(rows) == 0 {
		return store.Bundle{}, bundle.Errorf(bundle.ErrMissing, "there is no bundle %s here: `middleman bundle push FILE` stores one", id)
	}
	if digest == "" {
		return rows[0], nil
	}
	for _, row := range rows {
		if row.Digest == digest {
			return row, nil
		}
	}
	return store.Bundle{}, bundle.Errorf(bundle.ErrDigest, "no revision of bundle %s here has the digest %s; the newest, %d, has %s", id, digest, rows[0].Revision, rows[0].Digest)
}

// Open returns the content of the bundle with that id and digest.
func (l *Library) Open(ctx context.Context, id, digest string) (bundle.Bundle, error) {
	row, err := l.find(ctx, id, digest)
	if err != nil {
		return bundle.Bundle{}, err
	}
	return read(row)
}

// Show returns the bundle with that id and digest, of the newest revision if digest is
// "", with its content and who uses it.
func (l *Library) Show(ctx context.Context, id, digest string) (api.Bundle, error) {
	row, err := l.find(ctx, id, digest)
	if err != nil {
		return api.Bundle{}, err
	}
	v := l.view(ctx, row)
	if v.Problem == "" {
		v.Content = json.RawMessage(row.Content)
	}
	v.Users, err = l.users(ctx, row)
	return v, broken(err)
}

// users names the sessions and the profiles that use a bundle.
func (l *Library) users(ctx context.Context, row store.Bundle) ([]string, error) {
	var all []string
	sessions, err := l.Store.BundleUsers(ctx, row.Digest)
	for _, name := range sessions {
		all = append(all, "session "+name)
	}
	for _, name := range slices.Sorted(maps.Keys(l.Profiles)) {
		if _, _, digest := l.Profiles[name].OfBundle(); digest == row.Digest {
			all = append(all, "profile "+name+" of config.toml")
		}
	}
	return all, err
}

// Check says whether a launch with that id and digest would find its bundle.
func (l *Library) Check(ctx context.Context, id, digest string) (api.Availability, error) {
	v := api.Availability{ID: id, Digest: digest}
	if digest == "" {
		return v, bundle.Errorf(bundle.ErrDigest, "name the digest of bundle %s", id)
	}
	_, err := l.Open(ctx, id, digest)
	if v.Available = err == nil; v.Available {
		return v, nil
	}
	for kind, code := range map[error]string{bundle.ErrMissing: api.CodeBundleMissing, bundle.ErrDigest: api.CodeBundleDigest, bundle.ErrStore: api.CodeBundleStore} {
		if errors.Is(err, kind) {
			v.Code, v.Reason = code, err.Error()
			return v, nil
		}
	}
	return v, err
}

// Remove removes the bundle with that id and digest, or all revisions if digest is "".
// It refuses, and names who uses them, if anybody does. A dry run removes nothing.
func (l *Library) Remove(ctx context.Context, id, digest string, dryRun bool) (api.RemovedBundles, error) {
	l.changing.Lock()
	defer l.changing.Unlock()
	out := api.RemovedBundles{DryRun: dryRun, Bundles: []api.Bundle{}}
	first, err := l.find(ctx, id, digest)
	if err != nil {
		return out, err
	}
	rows := []store.Bundle{first}
	if digest == "" {
		if rows, err = l.Store.Revisions(ctx, id); err != nil {
			return out, broken(err)
		}
	}
	var users, digests []string
	for _, row := range rows {
		by, err := l.users(ctx, row)
		if err != nil {
			return out, broken(err)
		}
		users, digests = append(users, by...), append(digests, row.Digest)
		out.Bundles = append(out.Bundles, l.view(ctx, row))
	}
	if len(users) > 0 {
		return out, bundle.Errorf(bundle.ErrInUse, "bundle %s is in use by %s: remove these first", id, strings.Join(users, ", "))
	}
	if dryRun {
		return out, nil
	}
	if err := l.Store.DeleteBundles(ctx, digests); err != nil {
		return out, broken(err)
	}
	l.forgetNewest()
	return out, nil
}

func (l *Library) forgetNewest() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.newest = nil
}

// newestOf returns the newest revision of an id. It has no digest if there is none.
func (l *Library) newestOf(ctx context.Context, id string) (api.Moved, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.newest == nil {
		rows, err := l.Store.Revisions(ctx, "")
		if err != nil {
			return api.Moved{}, broken(err)
		}
		l.newest = map[string]api.Moved{}
		for _, row := range rows {
			if _, newer := l.newest[row.ID]; !newer {
				l.newest[row.ID] = api.Moved{Revision: row.Revision, Digest: row.Digest}
			}
		}
	}
	return l.newest[id], nil
}

// Session returns what a session was launched with, and whether the bundle has moved
// since. With changes it says how.
func (l *Library) Session(ctx context.Context, launched *bundle.Launched, changes bool) *api.SessionBundle {
	if launched == nil {
		return nil
	}
	out := &api.SessionBundle{Launched: *launched}
	newest, err := l.newestOf(ctx, launched.ID)
	if err != nil || newest.Digest == launched.Digest {
		return out
	}
	if out.Moved = &newest; !changes || newest.Digest == "" {
		return out
	}
	was, err := l.Open(ctx, launched.ID, launched.Digest)
	if err != nil {
		return out
	}
	if now, err := l.Open(ctx, launched.ID, newest.Digest); err == nil {
		newest.Changes = bundle.Diff(was, now)
	}
	return out
}
