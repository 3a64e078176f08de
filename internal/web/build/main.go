// Command build makes the web client's committed build: it bundles
// internal/web/src with the vendored libraries and writes internal/web/dist.
//
// Usage, from the top of the repository:
//
//	go run ./internal/web/build
package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

func main() {
	if err := run("internal/web"); err != nil {
		fmt.Fprintln(os.Stderr, "web build:", err)
		os.Exit(1)
	}
}

// run replaces the dist directory under root by a fresh build.
func run(root string) error {
	files, err := bundle(root)
	if err != nil {
		return err
	}
	dist := filepath.Join(root, "dist")
	if err := os.RemoveAll(dist); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		target := filepath.Join(dist, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, files[name], 0o644); err != nil {
			return err
		}
		fmt.Printf("%8d  %s\n", len(files[name]), name)
	}
	return nil
}
