package api

import (
	"encoding/json"
	"time"

	"middleman/internal/bundle"
)

// BundleRef names a bundle, as a launch does.
type BundleRef struct {
	ID     string `json:"id"`
	Digest string `json:"digest" doc:"64 lower-case hexadecimal digits"`
}

// Bundle is a bundle that the server has.
type Bundle struct {
	ID        string    `json:"id"`
	Revision  int64     `json:"revision"`
	Digest    string    `json:"digest"`
	Workspace string    `json:"workspace,omitempty" doc:"The id of the workspace where it was made"`
	Created   string    `json:"created,omitempty"`
	StoredAt  time.Time `json:"stored_at"`
	Profiles  []string  `json:"profiles" doc:"The names of its profiles"`
	Newest    bool      `json:"newest" doc:"Whether no bundle of this id has a higher revision"`
	Problem   string    `json:"problem,omitempty" doc:"Why it cannot be used: what is stored is damaged"`
	// Content is set where one bundle is asked for.
	Content json.RawMessage `json:"content,omitempty" doc:"The canonical form; only where one bundle is asked for"`
	Users   []string        `json:"users,omitempty" doc:"The sessions and the user's profiles that use it; only where one bundle is asked for"`
}

// Bundles is a page of bundles.
type Bundles struct {
	Bundles []Bundle `json:"bundles"`
	Next    string   `json:"next,omitempty"`
}

// PushedBundle is the answer to a push.
type PushedBundle struct {
	Bundle Bundle `json:"bundle"`
	New    bool   `json:"new" doc:"Whether it was not stored before"`
}

// Availability says whether a bundle can be launched.
type Availability struct {
	ID        string `json:"id"`
	Digest    string `json:"digest"`
	Available bool   `json:"available"`
	Code      string `json:"code,omitempty" enum:"bundle-missing,bundle-digest,bundle-store" doc:"Why not, as in problems"`
	Reason    string `json:"reason,omitempty"`
}

// RemovedBundles says which bundles were removed, or with a dry run would be.
type RemovedBundles struct {
	DryRun  bool     `json:"dry_run"`
	Bundles []Bundle `json:"bundles"`
}

// SessionBundle is the bundle that a session was started with.
type SessionBundle struct {
	bundle.Launched
	Moved *Moved `json:"moved,omitempty" doc:"The bundle's newest revision, if that is not the session's any more"`
}

// Moved is what became of a bundle since a session was started with it.
type Moved struct {
	Revision int64           `json:"revision,omitempty"`
	Digest   string          `json:"digest,omitempty" doc:"Unset if the server has no bundle of that id any more"`
	Changes  []bundle.Change `json:"changes,omitempty" doc:"The difference; only where one session is asked for"`
}
