// Package web is the web client: its sources (src, TypeScript), the libraries
// that it uses (vendored, with licences and hashes) and the committed build of
// both (dist), which [Handler] serves.
//
// The build is made by `go run ./internal/web/build` with the esbuild Go
// library; a test there rebuilds it and fails on any difference. So `go build`
// needs neither node nor a network, and no package but build imports esbuild.
// The package knows nothing of the API that the client talks to.
package web
