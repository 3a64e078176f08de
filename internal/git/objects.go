package git

import (
	"context"
	"fmt"
	"io"
	"strings"

	"middleman/internal/plainfile"
	"middleman/internal/plaintext"
)

// Durable is the configuration that makes git sync what it writes to the disk.
var Durable = map[string]string{"core.fsync": "committed,loose-object,reference"}

// Commit returns the commit that revision names, or "" if it names none.
func (p Dirs) Commit(ctx context.Context, revision string) (string, error) {
	out, err := p.Look(verifyCommit(revision)...).Line(ctx)
	if ExitCode(err) == 1 {
		return "", nil
	}
	return out, err
}

// Commit returns the commit that revision names, or "" if it names none.
func (g *View) Commit(ctx context.Context, revision string) (string, error) {
	out, err := g.Look(verifyCommit(revision)...).Line(ctx)
	if code := ExitCode(err); code == 1 || code == 128 && strings.HasPrefix(revision, "@{") {
		return "", nil
	}
	return out, err
}

func verifyCommit(revision string) []string {
	return []string{"rev-parse", "--verify", "--quiet", "--end-of-options", revision + "^{commit}"}
}

// EmptyTree returns the name of the tree without files. git knows this object
// even if the repository does not store it.
func (g *View) EmptyTree(ctx context.Context) (string, error) {
	return g.Look("hash-object", "-t", "tree", "--stdin").Line(ctx)
}

// Store writes content as an object of that kind and returns its name.
func (p Dirs) Store(ctx context.Context, kind string, content io.Reader) (string, error) {
	c := p.Alter("hash-object", "-t", kind, "-w", "--no-filters", "--stdin")
	c.Stdin, c.Config = content, Durable
	return c.Line(ctx)
}

// StoreFiles stores the files at paths, relative to dir, as blobs, byte for
// byte. For each file, in order, it calls stored with the index in paths and
// the name of the object.
func (p Dirs) StoreFiles(ctx context.Context, dir string, paths []string, stored func(at int, object string)) error {
	c := p.Alter("hash-object", "-w", "--no-filters", "--stdin-paths")
	c.Config = Durable
	return c.eachFile(ctx, dir, paths, stored)
}

// NameFiles is StoreFiles without storing anything.
func (p Dirs) NameFiles(ctx context.Context, dir string, paths []string, named func(at int, object string)) error {
	c := p.Look("hash-object", "--no-filters", "--stdin-paths")
	c.Limit = ChangeTime // there may be many
	return c.eachFile(ctx, dir, paths, named)
}

// eachFile runs c, which prints the name of an object for each of paths.
func (c Command) eachFile(ctx context.Context, dir string, paths []string, each func(at int, object string)) error {
	if len(paths) == 0 {
		return nil
	}
	var names strings.Builder
	for _, path := range paths {
		for name := range strings.SplitSeq(path, "/") {
			if err := plainfile.CheckName(name); err != nil {
				return fmt.Errorf("git cannot read %s: %w", plaintext.Quoted(path), err)
			}
		}
		names.WriteString(quotedName(path) + "\n")
	}
	c.Dir, c.Stdin, c.Lines = dir, strings.NewReader(names.String()), true
	n := 0
	c.Each = func(object string) {
		if n < len(paths) {
			each(n, object)
		}
		n++
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	if n != len(paths) {
		return fmt.Errorf("git read %d of %d files of %s", n, len(paths), dir)
	}
	return nil
}

// quotedName quotes a name as git expects it in a list of lines.
func quotedName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		switch {
		case c == '"' || c == '\\':
			b.WriteString(`\` + string(c))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\%03o`, c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// MakeTree stores a tree from a list in the format of git ls-tree, and returns
// its name.
func (p Dirs) MakeTree(ctx context.Context, list string) (string, error) {
	c := p.Alter("mktree")
	c.Stdin, c.Config = strings.NewReader(list), Durable
	return c.Line(ctx)
}

// Kinds checks which of names, complete or abbreviated, are objects. It calls
// each with the complete name and the kind of each object. A tag is replaced by
// the object that it points to.
func (p Dirs) Kinds(ctx context.Context, names []string, each func(object, kind string)) error {
	if len(names) == 0 {
		return nil
	}
	var tags []string
	c := p.Look("cat-file", "--batch-check=%(objectname) %(objecttype)", "--buffer")
	c.Stdin, c.Lines, c.Change = strings.NewReader(strings.Join(names, "\n")+"\n"), true, true
	c.Each = func(line string) {
		switch object, kind, _ := strings.Cut(line, " "); kind {
		case "commit", "tree", "blob":
			each(object, kind)
		case "tag":
			tags = append(tags, object+"^{}")
		}
	}
	if _, err := c.Run(ctx); err != nil {
		return err
	}
	return p.Kinds(ctx, tags, each)
}

// IsObjectID reports whether s has the form of a complete object name, SHA-1 or
// SHA-256.
func IsObjectID(s string) bool {
	return (len(s) == 40 || len(s) == 64) && strings.Trim(s, "0123456789abcdef") == ""
}
