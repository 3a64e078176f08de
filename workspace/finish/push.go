package finish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"middleman/internal/fault"
	"middleman/internal/git"
	"middleman/internal/plaintext"
	"middleman/workspace/look"
	"middleman/workspace/model"
)

// Errors of Push.
var (
	// ErrRejected: the remote did not take the branch.
	ErrRejected = errors.New("was rejected")
	// ErrPush: the remote could not be reached, or it broke off.
	ErrPush = errors.New("cannot be pushed")
)

// pushTime limits a push.
const pushTime = 10 * time.Minute

// PushRequest says where to push.
type PushRequest struct {
	Remote string // "" is the one that git would push to
	// Filters allows programs that the repository's configuration names to
	// reach the remote, and the hooks of a remote that is a directory.
	Filters bool
	// Agent is the socket of the user's SSH agent; "" is the one in the
	// environment of this process.
	Agent string
	// ForceWithLease lets the push replace the remote's branch, if that is at a commit
	// which the branch has had, as before an amend or a rebase.
	ForceWithLease bool
	DryRun         bool // contact no remote
}

// Pushed says what a push has done, or would do.
type Pushed struct {
	Branch   string   `json:"branch"`
	Remote   string   `json:"remote"`
	Upstream string   `json:"upstream" doc:"The remote's branch, which the branch has as its upstream now"`
	Head     string   `json:"head" doc:"The commit that the remote's branch is at; of a dry run, the one that it would be at"`
	Commits  int      `json:"commits" doc:"How many commits no branch of the remote had when it was last seen"`
	Done     string   `json:"done" enum:"new,updated,replaced,up to date,unknown" doc:"What became of the remote's branch; unknown for a dry run"`
	Link     string   `json:"link,omitempty" doc:"Where to make a pull request of it, by what the remote says or else by the form of its URL"`
	Warnings []string `json:"warnings,omitempty" doc:"What is not pushed, and what did not run"`
}

// Push pushes the branch that w has checked out to the branch of that name at a
// remote, and makes that its upstream. It overwrites no commit of the remote that this branch has not had.
func (f Finisher) Push(ctx context.Context, w model.Workspace, r PushRequest) (out Pushed, err error) {
	defer model.Containing(w.Name, &err)
	if w.Mode != model.ModeWorktree {
		return out, fmt.Errorf("workspace %s is not a worktree of ours: use git in %s: %w", w.Name, plaintext.Quoted(w.Root), model.ErrBadRequest)
	}
	tip, err := f.Inspector.Tip(ctx, w)
	if err != nil {
		return out, err
	}
	defer tip.View.Close()
	if tip.Branch == "" {
		return out, fmt.Errorf("workspace %s has no branch checked out: `git switch` to one in %s: %w", w.Name, plaintext.Quoted(w.Root), model.ErrBadRequest)
	}
	p := &push{w: w, r: r, tip: tip, repo: git.Whole(w.GitDir), out: Pushed{Branch: tip.Branch, Head: tip.Head, Done: "unknown"}}
	if err := p.run(ctx); err != nil {
		return out, fmt.Errorf("push workspace %s: %w", w.Name, err)
	}
	return p.out, nil
}

// push is one run of Push.
type push struct {
	w    model.Workspace
	r    PushRequest
	tip  look.Tip
	repo git.Dirs
	urls []string
	out  Pushed
}

func (p *push) run(ctx context.Context) (err error) {
	if err := p.findRemote(ctx); err != nil {
		return err
	}
	out := &p.out
	out.Upstream = out.Remote + "/" + out.Branch
	count, err := p.tip.View.Look("rev-list", "--count", out.Head, "--not", "--remotes="+out.Remote, "--").Line(ctx)
	if err == nil {
		out.Commits, err = strconv.Atoi(count)
	}
	if err != nil {
		return err
	}
	if n := len(p.tip.Uncommitted); n > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("not pushed, because not committed: changes in %d files", n))
	}
	if p.hasHook(ctx) {
		out.Warnings = append(out.Warnings, fmt.Sprintf("the repository's pre-push hook does not run; if Git LFS has set it up: git -C %s lfs push %s %s uploads the files",
			plaintext.Quoted(p.w.Root), plaintext.Quoted(out.Remote), plaintext.Quoted(out.Branch)))
	}
	if out.Link = linkByForm(p.urls[0], p.out.Branch, p.w.Base); p.r.DryRun {
		return nil
	}
	return p.send(ctx)
}

// findRemote finds the remote: the asked one, or the one that git would push to,
// or origin, or the only one.
func (p *push) findRemote(ctx context.Context) error {
	list, err := p.repo.Look("remote").Line(ctx)
	if err != nil {
		return err
	}
	remotes := strings.Fields(list)
	if len(remotes) == 0 {
		return fmt.Errorf("the repository has no remote: `git remote add origin URL` adds one: %w", model.ErrBadRequest)
	}
	p.out.Remote = p.r.Remote
	for _, key := range []string{"branch." + p.out.Branch + ".pushRemote", "remote.pushDefault", "branch." + p.out.Branch + ".remote"} {
		if p.out.Remote != "" {
			break
		}
		set, err := p.repo.Look("config", "--get", key).Line(ctx)
		if err != nil && git.ExitCode(err) != 1 { // status 1: it is not set
			return err
		}
		if slices.Contains(remotes, set) {
			p.out.Remote = set
		}
	}
	switch {
	case p.out.Remote != "":
	case slices.Contains(remotes, "origin"):
		p.out.Remote = "origin"
	case len(remotes) == 1:
		p.out.Remote = remotes[0]
	default:
		return fmt.Errorf("none of the remotes %s is called origin, and git has no setting for it: name one with --remote: %w", plaintext.Quoted(strings.Join(remotes, ", ")), model.ErrBadRequest)
	}
	if !slices.Contains(remotes, p.out.Remote) {
		return fmt.Errorf("there is no remote %s: %w", plaintext.Quoted(p.out.Remote), model.ErrBadRequest)
	}
	urls, err := p.repo.Look("remote", "get-url", "--push", "--all", "--", p.out.Remote).Line(ctx)
	if err != nil {
		return err
	}
	if p.urls = strings.Split(urls, "\n"); p.urls[0] == "" {
		return fmt.Errorf("remote %s has no URL: %w", plaintext.Quoted(p.out.Remote), model.ErrBadRequest)
	}
	return nil
}

// hasHook reports whether the repository has a pre-push hook.
func (p *push) hasHook(ctx context.Context) bool {
	dir := filepath.Join(p.repo.CommonDir, "hooks")
	// Our own commands pin this setting, so git cannot be asked for its value in
	// effect.
	set, err := p.repo.Look("config", "--local", "--type=path", "--get", "core.hooksPath").Line(ctx)
	if err == nil && set != "" {
		if dir = set; !filepath.IsAbs(dir) {
			dir = filepath.Join(p.w.Root, dir)
		}
	}
	_, err = os.Lstat(filepath.Join(dir, "pre-push"))
	return err == nil
}

// local reports whether all URLs, or some of them, are directories.
func (p *push) local() (all, some bool) {
	all = true
	for _, url := range p.urls {
		_, _, remote := splitURL(url)
		all, some = all && !remote, some || !remote
	}
	return all, some
}

// receivers reports whether all URLs are directories. It refuses those whose hooks would run
// without consent, and those where another user chooses what runs with it.
func (p *push) receivers(ctx context.Context) (all bool, err error) {
	all, some := p.local()
	switch {
	case !p.r.Filters && some && !all:
		return all, fmt.Errorf("remote %s has several URLs, and one is a directory, whose hooks would run: --filters allows that: %w", plaintext.Quoted(p.out.Remote), model.ErrBadRequest)
	case !p.r.Filters && all:
		p.out.Warnings = append(p.out.Warnings, "the remote is a directory of this machine, and its hooks do not run: --filters allows them")
	case p.r.Filters:
		for _, url := range p.urls {
			if _, _, remote := splitURL(url); remote {
				continue
			}
			if err := git.ConsentedReceiver(ctx, p.w.Root, url); err != nil {
				return all, err
			}
		}
	}
	return all, nil
}

// send runs git push.
func (p *push) send(ctx context.Context) error {
	way, err := git.ConsentedTransport(ctx, p.repo, p.r.Filters)
	if err != nil {
		return err
	}
	all, err := p.receivers(ctx)
	if err != nil {
		return err
	}
	ref := "refs/heads/" + p.out.Branch
	args := []string{"push", "--porcelain", "--set-upstream", "--no-verify", "--no-signed", "--no-follow-tags", "--recurse-submodules=no"}
	if p.r.ForceWithLease {
		args = append(args, "--force-with-lease", "--force-if-includes")
	}
	c := p.repo.Alter(append(args, "--", p.out.Remote, ref+":"+ref)...)
	c.Dir, c.Limit, c.Lines = p.w.Root, pushTime, true
	if p.r.Agent != "" {
		c.Env = append(c.Env, "SSH_AUTH_SOCK="+p.r.Agent)
	}
	rejected := ""
	c.Each = func(line string) {
		flag, rest, ok := strings.Cut(line, "\t")
		_, summary, _ := strings.Cut(rest, "\t")
		switch done := map[string]string{"*": "new", " ": "updated", "+": "replaced", "=": "up to date"}[flag]; {
		case ok && done != "":
			p.out.Done = done
		case ok && flag == "!":
			rejected = summary
		}
	}
	said := &remoteSays{}
	c.Errors = said
	if c, err = way.PushOver(c, p.out.Remote, all); err != nil {
		return err
	}
	fault.Here("push/ready")
	_, err = c.Once(ctx)
	if note := way.Note(); note != "" {
		p.out.Warnings = append(p.out.Warnings, note)
	}
	switch {
	case rejected != "":
		return p.explain(rejected, said)
	case err != nil && ctx.Err() == nil:
		return fmt.Errorf("to remote %s: %w: %w", plaintext.Quoted(p.out.Remote), ErrPush, way.Explain(p.short(err, said)))
	case err != nil:
		return err
	}
	if link := said.link(); link != "" {
		p.out.Link = link
	}
	// The branch may have moved since it was looked at.
	now, err := p.repo.Ref(ctx, "refs/remotes/"+p.out.Upstream)
	if err == nil && now != "" {
		p.out.Head = now
	}
	return err
}

// short returns err, the error of git push, without the command line of that, which is long,
// where git or the program that reaches the remote has said why.
func (p *push) short(err error, said *remoteSays) error {
	failed, ok := errors.AsType[*git.Error](err)
	why := said.why()
	if !ok || failed.Code <= 0 || why == "" {
		return err
	}
	return fmt.Errorf("%s: `git -C %s push %s %s` tries it without middleman", plaintext.Quoted(why),
		plaintext.Quoted(p.w.Root), plaintext.Quoted(p.out.Remote), plaintext.Quoted(p.out.Branch))
}

// explain is the error for a push that the remote rejected.
func (p *push) explain(why string, said *remoteSays) error {
	remote, branch, root := plaintext.Quoted(p.out.Remote), plaintext.Quoted(p.out.Branch), plaintext.Quoted(p.w.Root)
	lacks := fmt.Sprintf("branch %s of remote %s has commits that it lacks", branch, remote)
	pull := fmt.Sprintf("git -C %s pull --rebase %s %s, then try again", root, remote, branch)
	switch {
	case p.r.ForceWithLease && (strings.Contains(why, "stale info") || strings.Contains(why, "remote ref updated since checkout")):
		return fmt.Errorf("branch %s %w: %s and never had, which are not replaced: %s", branch, ErrRejected, lacks, pull)
	case strings.Contains(why, "non-fast-forward") || strings.Contains(why, "fetch first"):
		return fmt.Errorf("branch %s %w: %s: %s; --force-with-lease replaces them if they are the branch's own from before an amend or a rebase",
			branch, ErrRejected, lacks, pull)
	}
	text := plaintext.Quoted(why)
	if last := said.last(); last != "" {
		text += ": " + plaintext.Quoted(last)
	}
	return fmt.Errorf("branch %s %w by remote %s: %s", branch, ErrRejected, remote, text)
}
