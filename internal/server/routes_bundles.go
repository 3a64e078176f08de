package server

import (
	"context"
	"net/http"

	"middleman/internal/api"
	"middleman/internal/audit"
)

// BundlePath is the path parameter of a bundle.
type BundlePath struct {
	Bundle string `path:"bundle" doc:"Id of a bundle"`
}

// DigestQuery is the query parameter of a bundle's digest.
type DigestQuery struct {
	Digest string `query:"digest" doc:"Of the content that is meant, 64 lower-case hexadecimal digits"`
}

type pushBundleIn struct {
	KeyHeader
	RawBody []byte `contentType:"application/json"`
}

type bundleIn struct {
	BundlePath
	DigestQuery
}

type removeBundleIn struct {
	BundlePath
	DigestQuery
	KeyHeader
	DryRun bool `query:"dry_run" doc:"Remove nothing"`
}

func (s *Server) bundleRoutes() {
	push := route(http.MethodPost, "/bundles", "push-bundle", "Store a bundle, by its digest", accessFull)
	push.Description = "The body is the bundle, as docs/bundles.md describes it. One that is stored already is left as it is. Another content under a known id and revision is refused with 409, and a field that is not valid with 422, which names it."
	push.SkipValidateBody = true // the decoder of bundles says more
	add(s, push, func(ctx context.Context, in *pushBundleIn) (*reply[api.PushedBundle], error) {
		out, err := s.Bundles.Push(ctx, in.RawBody)
		audit.Note(ctx, "bundle "+out.Bundle.ID+" digest "+out.Bundle.Digest)
		return answer(out, err)
	})
	add(s, route(http.MethodGet, "/bundles", "list-bundles", "The bundles, in the order in which they were stored", accessRead),
		func(ctx context.Context, in *PageQuery) (*reply[api.Bundles], error) {
			return answer(s.Bundles.List(ctx, in.page()))
		})
	add(s, route(http.MethodGet, "/bundles/{bundle}", "get-bundle", "A bundle with its content: the one with that digest, else the newest revision", accessRead),
		func(ctx context.Context, in *bundleIn) (*reply[api.Bundle], error) {
			return answer(s.Bundles.Show(ctx, in.Bundle, in.Digest))
		})
	add(s, route(http.MethodGet, "/bundles/{bundle}/availability", "check-bundle", "Whether a launch with that id and digest would find its bundle", accessRead),
		func(ctx context.Context, in *bundleIn) (*reply[api.Availability], error) {
			return answer(s.Bundles.Check(ctx, in.Bundle, in.Digest))
		})
	remove := route(http.MethodDelete, "/bundles/{bundle}", "remove-bundle", "Remove the bundle with that digest, or all revisions", accessFull)
	remove.Description = "Refused with 409, which names who uses it, if a session or a profile of the user does."
	add(s, remove, func(ctx context.Context, in *removeBundleIn) (*reply[api.RemovedBundles], error) {
		return answer(s.Bundles.Remove(ctx, in.Bundle, in.Digest, in.DryRun))
	})
}
