package look

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/git"
)

// abandoned adds the commits, and what else has a name, that only a reflog or
// refs/worktree hold which goes with the worktree: the reflogs of its HEAD and of branch,
// which is "" if that stays. Amending and rebasing leave such commits all the time, so
// they do not stop a delete. head is the commit of HEAD, or "".
func (l *collector) abandoned(ctx context.Context, p git.Dirs, head, branch string) error {
	if onlyHead(p, head, branch) {
		return nil
	}
	return l.toldIfUnread("", l.unreferenced(ctx, p, head, branch))
}

// toldIfUnread returns err, unless git could not read reflogs or refs: that does not
// stop a delete, and the list of abandoned commits says so, with name before it.
func (l *collector) toldIfUnread(name string, err error) error {
	if err != nil && (git.ExitCode(err) >= 0 || errors.Is(err, errReflog)) {
		l.add(&l.loss.Abandoned, name+"what the reflog holds: "+err.Error())
		return nil
	}
	return err
}

func (l *collector) unreferenced(ctx context.Context, p git.Dirs, head, branch string) error {
	refs := []string{"--ignore-missing", "--stdin"} // a reflog may name commits that are gone
	var logs []string
	if branch != "" {
		logs = append(logs, "refs/heads/"+branch)
	}
	linked := p.GitDir != p.CommonDir // else git's entry is gone, and HEAD is that of the main checkout
	if linked {
		refs = append(refs, "--glob=refs/worktree/*")
	}
	if linked && head != "" {
		logs = append(logs, "HEAD")
	}
	from, err := logged(ctx, p, logs)
	if err == nil && linked && head == "" {
		from, err = withUnborn(p, from)
	}
	if err != nil {
		return err
	}
	// Commits of HEAD and the branch are listed as work elsewhere. --all means
	// every ref and the HEAD of every worktree.
	args := append(refs, "--not", "--exclude=refs/worktree/*", "--all")
	err = l.historyFrom(ctx, p, &l.loss.Abandoned, from, args, "%h %s")
	if err == nil && linked {
		err = l.otherObjects(ctx, p, "refs/worktree/", nil, "")
	}
	return err
}

// otherObjects adds what is no commit and has a ref below refs: annotated tags, which have
// a text of their own, and files and trees. It leaves out remote-tracking refs, and the
// objects in came, which a remote has.
func (l *collector) otherObjects(ctx context.Context, p git.Dirs, refs string, came map[string]bool, name string) error {
	c := p.Look("for-each-ref", "--format=%(objecttype) %(objectname) %(refname) %(contents:subject)", refs)
	c.Lines = true
	var found []string
	c.Again = func() { found = nil }
	c.Each = func(record string) {
		fields := strings.SplitN(record, " ", 4)
		if len(fields) < 3 || fields[0] == "commit" || came[fields[1]] || strings.HasPrefix(fields[2], "refs/remotes/") {
			return
		}
		text := name + fields[0] + " " + fields[2]
		if fields[0] == "tag" && len(fields) == 4 {
			text += ": " + fields[3]
		}
		found = append(found, text)
	}
	_, err := c.Run(ctx)
	for _, text := range found {
		l.add(&l.loss.Abandoned, text)
	}
	return err
}

// onlyHead reports whether the reflogs of the checkout at p and of branch, if there is
// one, have no other commit than head, and the checkout no refs of its own, so that git
// need not be asked. It reports false for what it cannot read.
func onlyHead(p git.Dirs, head, branch string) bool {
	if _, err := os.Lstat(filepath.Join(p.GitDir, "refs", "worktree")); head == "" || !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	logs := []string{filepath.Join(p.GitDir, "logs", "HEAD")}
	if branch != "" {
		logs = append(logs, filepath.Join(p.CommonDir, "logs", "refs", "heads", filepath.FromSlash(branch)))
	}
	for _, log := range logs {
		named, err := plainLog(log, maxPlainLog)
		if err != nil || len(named) != 1 || named[0] != head {
			return false
		}
	}
	return true
}
