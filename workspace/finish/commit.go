package finish

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/model"
)

// commit is a commit object. headers are whole lines, each with its line feed.
type commit struct {
	tree              string
	parents           []string
	author, committer string
	headers           []string // such as the encoding; not the signature, which no copy can keep
	message           string
}

// parseCommit parses a commit as git stores it.
func parseCommit(raw string) (c commit, err error) {
	head, message, ok := strings.Cut(raw, "\n\n")
	c.message = message
	kept := false // the header before was kept, so its further lines are too
	for line := range strings.Lines(head + "\n") {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch key {
		case "":
			if kept {
				c.headers = append(c.headers, line)
			}
			continue
		case "tree":
			c.tree = value
		case "parent":
			c.parents = append(c.parents, value)
		case "author":
			c.author = value
		case "committer":
			c.committer = value
		case "gpgsig", "gpgsig-sha256", "mergetag":
		default:
			kept = true
			c.headers = append(c.headers, line)
			continue
		}
		kept = false
	}
	for _, id := range append(slices.Clone(c.parents), c.tree) {
		ok = ok && git.IsObjectID(id)
	}
	if !ok || c.author == "" || c.committer == "" {
		return commit{}, fmt.Errorf("a commit begins with %s, which middleman does not understand", plaintext.Quoted(raw[:min(len(raw), 200)]))
	}
	return c, nil
}

// bytes is the commit as git stores it.
func (c commit) bytes() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "tree %s\n", c.tree)
	for _, parent := range c.parents {
		fmt.Fprintf(&b, "parent %s\n", parent)
	}
	fmt.Fprintf(&b, "author %s\ncommitter %s\n", c.author, c.committer)
	for _, header := range c.headers {
		b.WriteString(header)
	}
	b.WriteString("\n" + c.message)
	return b.Bytes()
}

// read reads the commit of that name.
func (m *merge) read(ctx context.Context, name string) (commit, error) {
	raw, err := m.view.Look("cat-file", "commit", name).Run(ctx)
	if err != nil {
		return commit{}, err
	}
	return parseCommit(raw)
}

// store writes a commit into the view, and returns its name.
func (m *merge) store(ctx context.Context, c commit) (string, error) {
	write := m.view.Look("hash-object", "-t", "commit", "-w", "--stdin")
	write.Stdin = bytes.NewReader(c.bytes())
	return write.Line(ctx)
}

// sameTree reports whether a commit has that tree.
func (m *merge) sameTree(ctx context.Context, name, tree string) (bool, error) {
	out, err := m.view.Look("rev-parse", "--verify", "--end-of-options", name+"^{tree}").Line(ctx)
	return out == tree, err
}

// identity is what git would write into a commit of the user's, with the time.
type identity struct{ author, committer string }

// identities asks git who the user is. It takes no name that git would guess.
func (m *merge) identities(ctx context.Context) (who identity, err error) {
	for name, to := range map[string]*string{"GIT_AUTHOR_IDENT": &who.author, "GIT_COMMITTER_IDENT": &who.committer} {
		c := m.repo.Look("var", name)
		c.Config = map[string]string{"user.useConfigOnly": "true"}
		*to, err = c.Line(ctx)
		if git.ExitCode(err) == 128 {
			err = fmt.Errorf("git does not know who you are: set user.name and user.email (git config --global user.email YOU@EXAMPLE.ORG): %w: %w", model.ErrBadRequest, err)
		}
		if err != nil {
			return identity{}, err
		}
	}
	return who, nil
}

// rebase copies the commits of the workspace, one after the other, on top of the
// branch. A commit whose change the branch has already is left out.
func (m *merge) rebase(ctx context.Context) (string, error) {
	who, err := m.identities(ctx)
	if err != nil {
		return "", err
	}
	names, err := m.toRebase(ctx)
	if err != nil {
		return "", err
	}
	onto, err := m.read(ctx, m.out.Before)
	if err != nil {
		return "", err
	}
	at := m.out.Before
	for _, name := range names {
		c, err := m.read(ctx, name)
		if err != nil {
			return "", err
		}
		parent, err := m.read(ctx, c.parents[0])
		if err != nil {
			return "", err
		}
		tree, err := m.pick(ctx, parent.tree, onto.tree, c)
		if err != nil {
			return "", err
		}
		if tree == onto.tree && c.tree != parent.tree {
			continue
		}
		c.tree, c.parents, c.committer = tree, []string{at}, who.committer
		if at, err = m.store(ctx, c); err != nil {
			return "", err
		}
		onto = c
	}
	return at, nil
}

// toRebase lists the commits whose changes the branch lacks, oldest first. It refuses
// merge commits: copies of the others would not have what was resolved in them.
func (m *merge) toRebase(ctx context.Context) ([]string, error) {
	if m.out.Commits > maxRebased {
		return nil, fmt.Errorf("%d commits are too many to rebase here: at most %d: %w", m.out.Commits, maxRebased, model.ErrBadRequest)
	}
	var names []string
	merges := 0
	list := m.view.Look("rev-list", "--reverse", "--topo-order", "--parents", "--cherry-pick", "--right-only", m.out.Before+"..."+m.out.Head, "--")
	list.Lines = true
	list.Each = func(line string) {
		fields := strings.Fields(line)
		if len(fields) != 2 {
			merges++
			return
		}
		names = append(names, fields[0])
	}
	_, err := list.Run(ctx)
	if err == nil && merges > 0 {
		err = fmt.Errorf("branch %s has merge commits, which a rebase would take apart: merge it, or use --squash: %w", plaintext.Quoted(m.out.Branch), model.ErrBadRequest)
	}
	return names, err
}

// pick returns the tree that the change from the tree base to the commit c makes
// of the tree onto. The three get commits of their own, so that git finds base as
// what the two others have in common.
func (m *merge) pick(ctx context.Context, base, onto string, c commit) (string, error) {
	const nobody = "middleman <> 0 +0000"
	root, err := m.store(ctx, commit{tree: base, author: nobody, committer: nobody})
	if err != nil {
		return "", err
	}
	var sides [2]string
	for i, tree := range []string{onto, c.tree} {
		sides[i], err = m.store(ctx, commit{tree: tree, parents: []string{root}, author: nobody, committer: nobody, message: fmt.Sprint(i)})
		if err != nil {
			return "", err
		}
	}
	return m.mergeTree(ctx, sides[0], sides[1], "rebase")
}
