package quarantine

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/workspace/look"
)

const (
	lockTries = 20 // of an index in which another git works at the moment
	lockPause = 50 * time.Millisecond
)

// errTooMany: a commit changes more files than git has memory for. A few small trees that
// contain each other can stand for more files than any index holds.
var errTooMany = errors.New("a commit changes more files than git has memory for")

// stagedDiffers reports whether something is staged in the sandbox: the tree of its index
// is not that of its HEAD.
func (i *importing) stagedDiffers(ctx context.Context) (bool, error) {
	head := i.t.head.commit
	if head == "" {
		head = i.t.objects[i.t.head.branch]
	}
	if head == "" {
		empty, err := i.s.Look("hash-object", "-t", "tree", "--stdin").Line(ctx)
		return i.t.staged != empty, err
	}
	c := i.in.look("rev-parse", "--verify", "--quiet", head+"^{tree}")
	tree, err := c.Line(ctx)
	return i.t.staged != tree, i.in.damaged(err)
}

// follow brings the index of the user's checkout to what the sandbox has staged, or to the
// branch if the sandbox is elsewhere, unless the user staged something since.
func (i *importing) follow(ctx context.Context) error {
	if i.s.gone || i.out.Conflict || i.out.Submodules != nil || i.out.After == "" || len(i.out.Missed) > 0 {
		return nil
	}
	target, err := i.followTo(ctx)
	if err != nil {
		return err
	}
	now, err := i.q.hostTree(ctx, i.s)
	if err != nil {
		return err
	}
	if now == target {
		i.r.Index = target
		return nil
	}
	if i.out.IndexKept, err = i.whyKept(ctx, now, target); err != nil || i.out.IndexKept != "" {
		return err
	}
	fault.Here("quarantine/following")
	if err := i.readTree(context.WithoutCancel(ctx), target); err != nil {
		return err
	}
	fault.Here("quarantine/followed")
	i.r.Index = target
	return nil
}

// followTo returns the tree that the user's index should have.
func (i *importing) followTo(ctx context.Context) (string, error) {
	if i.t.staged != "" && i.t.head.branch == i.r.Branch {
		return i.t.staged, nil
	}
	return i.s.Look("rev-parse", "--verify", "--quiet", i.out.After+"^{tree}").Line(ctx)
}

// whyKept says why the user's index, which has the tree now, must not follow, or "".
func (i *importing) whyKept(ctx context.Context, now, target string) (string, error) {
	head, err := i.s.head(ctx)
	if err != nil {
		return "", err
	}
	switch operation := look.Operation(i.s.Dirs); {
	case head.branch != i.r.Branch:
		return "HEAD of the checkout is not on the branch", nil
	case operation != "":
		return "a " + operation + " is in progress in the checkout", nil
	case now == "":
		return "the index of the checkout has conflicts", nil
	case now != i.r.Index:
		return "files are staged in the checkout", nil
	}
	added, err := i.s.addedSubmodules(ctx, now, func() (string, error) { return i.s.diffTree(ctx, "", now, target) })
	if errors.Is(err, errTooMany) {
		return errTooMany.Error(), nil
	}
	if err == nil && added != nil {
		return "a submodule is staged in the sandbox: " + strings.Join(added, ", "), nil
	}
	return "", err
}

// readTree puts tree into the user's index. It keeps what the index knows of files that
// did not change, touches no file of the checkout, and runs nothing.
func (i *importing) readTree(ctx context.Context, tree string) error {
	c := i.s.Alter("read-tree", "-i", "-m", tree)
	for try := 1; ; try++ {
		var said bytes.Buffer
		c.Errors = &limited{to: &said}
		_, err := c.Run(ctx)
		if err == nil || !strings.Contains(said.String(), "index.lock") {
			return err
		}
		if try == lockTries {
			i.out.IndexKept = "another git works in the checkout"
			return nil
		}
		time.Sleep(lockPause)
	}
}

// countNew returns how many commits after has that before has not.
func (s site) countNew(ctx context.Context, before, after string) (int, error) {
	args := []string{"rev-list", "--count", after}
	if before != "" {
		args = append(args, "--not", before)
	}
	c := s.Look(args...)
	line, err := c.Line(ctx)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(line)
	if err != nil {
		return 0, c.Odd(line)
	}
	return n, nil
}

// newSubmodules returns the paths at which a commit that only after has puts a submodule
// where before has none.
func (s site) newSubmodules(ctx context.Context, before, after string) ([]string, error) {
	return s.addedSubmodules(ctx, before, func() (string, error) {
		var commits strings.Builder
		list := s.Look("rev-list", after, "--not", "--branches", "--tags", "--remotes")
		list.Lines, list.Again = true, commits.Reset
		list.Each = func(line string) { commits.WriteString(line + "\n") }
		if _, err := list.Run(ctx); err != nil {
			return "", err
		}
		return s.diffTree(ctx, commits.String())
	})
}

// addedSubmodules returns which of the submodules that diff tells of before, a commit or a
// tree, has not.
func (s site) addedSubmodules(ctx context.Context, before string, diff func() (string, error)) ([]string, error) {
	found, err := diff()
	if err != nil || found == "" {
		return nil, err
	}
	had := map[string]bool{}
	if before != "" {
		c := s.Look("ls-tree", "-r", "-z", "--full-tree", before)
		c.Each = func(record string) {
			if name, ok := gitlink(record); ok {
				had[name] = true
			}
		}
		if _, err := c.Run(ctx); err != nil {
			return nil, err
		}
	}
	added := map[string]bool{}
	for name := range strings.SplitSeq(strings.TrimSuffix(found, "\x00"), "\x00") {
		if !had[name] {
			added[name] = true
		}
	}
	if len(added) == 0 {
		return nil, nil
	}
	return sortedKeys(added), nil
}

// diffTree returns the paths, each with a NUL behind it, at which the given commits, or
// the second of two trees, have another submodule than before, if any.
func (s site) diffTree(ctx context.Context, commits string, trees ...string) (string, error) {
	var found strings.Builder
	submodule, meta := false, ""
	c := s.Look("diff-tree", "-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--no-ext-diff", "--ignore-submodules=none")
	if trees == nil {
		c.Args = append(c.Args, "--stdin", "-m", "--root", "--no-commit-id")
		c.Stdin = strings.NewReader(commits)
	}
	c.Args = append(c.Args, trees...)
	c.Change = true // history may be long
	c.Thrifty = true
	c.Again = func() { found.Reset(); meta = "" }
	c.Each = func(record string) { // ":OLDMODE NEWMODE OLD NEW STATUS", then a path
		if meta == "" {
			meta = record
			fields := strings.Fields(record)
			submodule = len(fields) == 5 && fields[1] == "160000"
			return
		}
		if meta = ""; submodule {
			found.WriteString(record + "\x00")
		}
	}
	_, err := c.Run(ctx)
	if failed, ok := errors.AsType[*git.Error](err); ok && strings.Contains(strings.ToLower(failed.Stderr), "out of memory") {
		return "", errTooMany
	}
	if err != nil {
		return "", fmt.Errorf("look for submodules: %w", err)
	}
	return found.String(), nil
}
