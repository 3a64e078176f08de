// Package build knows the version of this binary.
package build

import (
	"runtime/debug"

	"middleman/cmd/middleman/internal/stamp"
)

// Version returns the version that the build set, else one made of what Go
// recorded about the source.
func Version() string {
	if stamp.Version != "" {
		return stamp.Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "-dirty"
		}
	}
	if revision == "" {
		return "devel"
	}
	return "devel-" + revision + dirty
}

// Line returns the line that --version prints.
func Line() string { return stamp.Line(Version()) }
