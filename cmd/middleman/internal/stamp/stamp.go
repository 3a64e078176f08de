// Package stamp holds the version that the build set. It imports next to nothing, see
// package early.
package stamp

import "runtime"

// Version is set by the build:
// -ldflags "-X middleman/cmd/middleman/internal/stamp.Version=v1.2.3".
var Version = ""

// Line returns the line that --version prints for a version.
func Line(version string) string {
	return "middleman " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH
}
