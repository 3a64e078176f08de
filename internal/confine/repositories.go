package confine

import (
	"context"
	"fmt"
	"slices"

	"middleman/internal/plaintext"
	"middleman/internal/quarantine"
	"middleman/internal/sandbox"
)

// repositories protects the user's repositories in the directories that the settings and the
// profile add: git of the user's runs what their settings and hooks name. For the workspace
// itself its quarantine does that.
func (b *builder) repositories() error {
	ctx, cancel := context.WithTimeout(context.Background(), renewTime)
	defer cancel()
	for n, dir := range b.added {
		if sandbox.Within(dir, b.policy.Writable[0]) || slices.Contains(b.added[:n], dir) {
			continue
		}
		parts, elsewhere, err := quarantine.Beside(ctx, dir)
		if err != nil {
			return fmt.Errorf("protect the repositories in the writable directory %s: %w", plaintext.Quoted(dir), err)
		}
		for _, part := range parts {
			if b.isBound(part.Path) { // the private git directory of the workspace
				continue
			}
			path := plaintext.Quoted(part.Path)
			err := b.keep(part.Path, kept{
				note:   part.Note,
				around: fmt.Sprintf("%s is writable in the sandbox, and %s in it holds a repository and the workspace, %s: name other directories, so that the program cannot replace that repository", plaintext.Quoted(dir), path, b.policy.Writable[0]),
				cannot: fmt.Sprintf("%s is writable in the sandbox and has a repository of yours, and Landlock cannot protect %s, from which your git takes what it runs: use bubblewrap, or name other directories", plaintext.Quoted(dir), path),
			})
			if err != nil {
				return err
			}
		}
		for _, e := range elsewhere { // git runs what the settings there name
			if err := b.shield(reading{path: e.Path, reader: "git in " + plaintext.Quoted(e.Checkout)}, b.open()); err != nil {
				return err
			}
		}
	}
	return nil
}
