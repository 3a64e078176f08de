//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// repository is a fresh one, a server of ours, and a canary to plant.
type repository struct {
	*server
	dir    string
	canary canary
	// name and tree are the workspace's, once there is one.
	name, tree string
}

// newRepository makes a repository with two files and one commit.
func (w *world) newRepository() *repository {
	place := w.place()
	r := &repository{server: must1(w.repositories()), dir: filepath.Join(place, "repo"), canary: w.newCanary(), name: "w" + filepath.Base(place)}
	must(os.Mkdir(r.dir, 0o755))
	r.git("init", "-q", "-b", "main")
	write(r.dir+"/a.txt", "one\n")
	write(r.dir+"/sub/b.txt", "two\n")
	write(r.dir+"/.gitattributes", "*.f filter=evil\n*.d diff=evil merge=evil\n")
	write(r.dir+"/x.f", "filtered\n")
	write(r.dir+"/x.d", "shown\n")
	r.git("add", "-A")
	r.git("commit", "-qm", "one")
	return r
}

// git runs git in the repository, as a user would before anything is planted.
func (r *repository) git(args ...string) string { return r.gitIn(r.dir, args...) }

func (r *repository) gitIn(dir string, args ...string) string {
	cmd := exec.Command("git", args...)
	cmd.Dir, cmd.Env = dir, r.env
	out, err := cmd.CombinedOutput()
	if err != nil {
		must(fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, out))
	}
	return strings.TrimSpace(string(out))
}

// begin makes a workspace of the repository, without a session.
func (r *repository) begin(more ...string) output {
	o := collectWithin(r.command(append([]string{"new", r.name, "-d", "--no-session", "-C", r.dir}, more...)...), 20*time.Second)
	if o.code == 0 {
		r.tree = r.whereIs(r.name)
	}
	return o
}

// whereIs is a workspace's directory.
func (r *repository) whereIs(name string) string {
	var v struct {
		Workspaces []struct{ Name, Path string }
	}
	must(json.Unmarshal([]byte(r.ok("ls", "--json").stdout), &v))
	for _, w := range v.Workspaces {
		if w.Name == name {
			return w.Path
		}
	}
	must(fmt.Errorf("there is no workspace %s", name))
	return ""
}

// looks are commands that look at a workspace, or take it away.
func (r *repository) looks() [][]string {
	return [][]string{{"ls"}, {"show", r.name}, {"diff", r.name}, {"diff", r.name, "--commits"}, {"rm", r.name, "-n"}, {"rm", r.name, "--discard-work"}, {"restore", r.name}}
}

// watched runs the looks; none runs the canary or takes longer than limit.
func (r *repository) watched(limit time.Duration) error {
	for _, args := range r.looks() {
		began := time.Now()
		o := collectWithin(r.command(args...), limit)
		if err := r.canary.sang("middleman " + strings.Join(args, " ")); err != nil {
			return err
		}
		if o.late {
			return fmt.Errorf("middleman %s takes longer than %s: %s", strings.Join(args, " "), time.Since(began).Round(time.Second), o)
		}
		if strings.Contains(o.all(), "panic:") || strings.Contains(o.all(), "goroutine ") {
			return fmt.Errorf("middleman %s: %s", strings.Join(args, " "), o)
		}
	}
	return r.alive()
}

// planted is something that a hostile repository holds. before is planted in
// the repository, after in the workspace's checkout.
type planted struct {
	name, title   string
	before, after func(r *repository)
	base          string // the base of the workspace, "" HEAD
	mayWait       bool   // its own creation may, and nobody else's
	slow          bool
}

const runGain = "a program of the repository's choice, run as the user by a look"

func repositoryProbes() []probe {
	probes := []probe{{id: "control", title: "a careless git runs what is planted", control: true, gain: "nothing: it shows that the canary sings", run: repositoryControl}}
	for _, key := range commands {
		probes = append(probes, probe{id: "config/" + key, title: "the repository's configuration has a command as " + key, gain: runGain, run: func(w *world) error {
			return must1(w.planting())[key]
		}})
	}
	for _, hook := range hooks {
		probes = append(probes, probe{id: "hook/" + hook, title: "the repository has the hook " + hook, gain: runGain, run: func(w *world) error {
			return must1(w.planting())[hook]
		}})
	}
	for _, c := range configs {
		probes = append(probes, probe{id: "config/" + c.key, title: "the repository's configuration sets " + c.key, gain: runGain, slow: c.value == "PIPE", run: func(w *world) error {
			return plantAndLook(w, planted{before: func(r *repository) {
				fifo(r.dir + "/.git/pipe")
				value := strings.NewReplacer("CANARY", r.canary.program, "DIR", filepath.Dir(r.canary.program), "PIPE", r.dir+"/.git/pipe")
				r.git("config", value.Replace(c.key), value.Replace(c.value))
			}, base: c.base, mayWait: c.value == "PIPE"})
		}})
	}
	for _, p := range plants {
		probes = append(probes, probe{id: "plant/" + p.name, title: p.title, gain: runGain + ", or one that never ends", slow: p.slow, run: func(w *world) error { return plantAndLook(w, p) }})
	}
	return probes
}

// plantAll plants every command and hook in one repository, each with a program
// of its own name, and returns what ran by key.
func plantAll(w *world) (ran map[string]error, err error) {
	defer func() {
		if b, is := recover().(broken); is {
			err = b.err
		}
	}()
	r := w.newRepository()
	dir := filepath.Dir(r.canary.program)
	program := func(key string) string {
		path := filepath.Join(dir, "for-"+key)
		must(os.Symlink(r.canary.program, path))
		return path
	}
	for _, key := range commands {
		bang := ""
		if strings.HasPrefix(key, "alias.") || key == "credential.helper" || key == "submodule.sub.update" {
			bang = "!"
		}
		r.git("config", key, bang+program(key))
	}
	for _, hook := range hooks {
		executable(r.dir+"/.git/hooks/"+hook, "#!/bin/sh\nexec '"+program(hook)+"'\n")
	}
	if o := r.begin(); o.code != 0 {
		must(fmt.Errorf("new: %s", o))
	}
	r.change()
	for _, args := range r.looks() {
		collect(r.command(args...))
	}
	ran = map[string]error{}
	trace, _ := os.ReadFile(r.canary.trace) // none is what is wanted
	for line := range strings.Lines(string(trace)) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, dir+"/for-"), " ")
		ran[strings.TrimSpace(name)] = fmt.Errorf("it was run: %s", line)
	}
	return ran, nil
}

// change changes the checkout, so that looks have something to look at.
func (r *repository) change() {
	write(r.tree+"/a.txt", "changed\n")
	write(r.tree+"/x.f", "changed\n")
	write(r.tree+"/x.d", "changed\n")
	write(r.tree+"/new.f", "new\n")
}

// repositoryControl: of a configuration and a hook.
func repositoryControl(w *world) error {
	r := w.newRepository()
	r.git("config", "core.fsmonitor", r.canary.program)
	executable(r.dir+"/.git/hooks/post-checkout", "#!/bin/sh\nexec '"+r.canary.program+"' hook\n")
	r.git("status")
	first := r.canary.sang("git status")
	r.git("worktree", "add", "-q", r.dir+"2")
	if second := r.canary.sang("git worktree add"); first == nil || second == nil {
		return fmt.Errorf("git ran nothing: %v, %v", first, second)
	}
	return nil
}

// commands are settings that have git run a command when it is used without
// care.
var commands = []string{
	"core.fsmonitor", "core.pager", "core.editor", "core.askPass", "core.sshCommand", "core.gitProxy", "core.alternateRefsCommand",
	"diff.external", "diff.evil.command", "diff.evil.textconv", "merge.evil.driver", "filter.evil.clean", "filter.evil.smudge", "filter.evil.process",
	"credential.helper", "gpg.program", "gpg.ssh.program", "interactive.diffFilter", "sequence.editor",
	"alias.status", "alias.worktree", "alias.diff", "alias.remote-https", "pager.diff", "pager.worktree", "pager.status",
	"uploadpack.packObjectsHook", "remote.origin.uploadpack", "submodule.sub.update",
}

var hooks = []string{"post-checkout", "reference-transaction", "post-index-change", "pre-commit", "post-commit", "pre-auto-gc", "post-rewrite", "fsmonitor-watchman", "pre-push"}

// configs are settings that change too much to be planted with others.
var configs = []struct{ key, value, base string }{
	{"core.hooksPath", "DIR", ""}, {"core.attributesFile", "PIPE", ""}, {"core.excludesFile", "PIPE", ""}, {"init.templateDir", "DIR", ""},
	{"remote.origin.url", "ext::CANARY", "pr:1"}, {"remote.origin.vcs", "CANARY", "pr:1"}, {"trace2.eventTarget", "CANARY", ""},
	{"core.worktree", "/", ""}, {"core.bare", "true", ""}, {"status.submoduleSummary", "true", ""}, {"extensions.partialClone", "origin", ""}, {"include.path", "PIPE", ""},
}

// plants are files and links.
var plants = []planted{
	{name: "included", title: "a configuration that is included on a branch", before: func(r *repository) {
		write(r.dir+"/.git/more", "[core]\n\tfsmonitor = "+r.canary.program+"\n[diff]\n\texternal = "+r.canary.program+"\n")
		r.git("config", "includeIf.onbranch:**.path", "more")
	}},
	{name: "worktree-config", title: "configuration of the worktree alone", before: func(r *repository) { r.git("config", "extensions.worktreeConfig", "true") }, after: func(r *repository) {
		r.gitIn(r.tree, "config", "--worktree", "diff.external", r.canary.program)
		r.gitIn(r.tree, "config", "--worktree", "core.fsmonitor", r.canary.program)
	}},
	{name: "git-elsewhere", title: "a .git file that leads to a hostile repository", after: func(r *repository) {
		evil(r, r.tree+"/evil")
		must(os.WriteFile(r.tree+"/.git", []byte("gitdir: "+r.tree+"/evil/.git\n"), 0o644))
	}},
	{name: "git-replaced", title: "a .git that is a hostile repository", after: func(r *repository) {
		evil(r, r.tree+"/evil")
		must(errors.Join(os.Remove(r.tree+"/.git"), os.Rename(r.tree+"/evil/.git", r.tree+"/.git")))
	}},
	{name: "git-linked", title: "a .git that is a link to a hostile repository", after: func(r *repository) {
		evil(r, r.tree+"/evil")
		must(errors.Join(os.Remove(r.tree+"/.git"), os.Symlink(r.tree+"/evil/.git", r.tree+"/.git")))
	}},
	{name: "commondir", title: "a worktree whose common directory is a hostile repository", after: func(r *repository) {
		evil(r, r.tree+"/evil")
		write(r.entry()+"/commondir", r.tree+"/evil/.git\n")
	}},
	{name: "gitdir", title: "a worktree entry that leads to another directory", after: func(r *repository) {
		evil(r, r.tree+"/evil")
		write(r.entry()+"/gitdir", r.tree+"/evil/.git\n")
	}},
	{name: "nested", title: "a hostile repository inside, as a gitlink", after: func(r *repository) {
		evil(r, r.tree+"/inner")
		r.gitIn(r.tree, "update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",inner")
	}},
	{name: "bare", title: "a hostile bare repository inside", after: func(r *repository) {
		r.git("init", "-q", "--bare", r.tree+"/bare")
		r.git("--git-dir", r.tree+"/bare", "config", "core.fsmonitor", r.canary.program)
	}},
	{name: "submodule", title: "a submodule whose update is a command", before: func(r *repository) {
		write(r.dir+"/.gitmodules", "[submodule \"sub\"]\n\tpath = mod\n\turl = ext::"+r.canary.program+"\n\tupdate = !"+r.canary.program+"\n")
		r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",mod")
		r.git("add", ".gitmodules")
		r.git("commit", "-qm", "submodule")
	}},
	{name: "submodule-url", title: "a submodule whose address is an option", before: func(r *repository) {
		write(r.dir+"/.gitmodules", "[submodule \"sub\"]\n\tpath = mod\n\turl = --upload-pack="+r.canary.program+"\n")
		r.git("update-index", "--add", "--cacheinfo", "160000,"+r.git("rev-parse", "HEAD")+",mod")
		r.git("add", ".gitmodules")
		r.git("commit", "-qm", "submodule")
	}},
	{name: "attributes", title: "filters by info/attributes", before: func(r *repository) {
		write(r.dir+"/.git/info/attributes", "* filter=evil diff=evil merge=evil\n")
		r.git("config", "filter.evil.clean", r.canary.program)
		r.git("config", "diff.evil.textconv", r.canary.program)
	}},
	{name: "alternates", title: "objects of a hostile repository as alternates", before: func(r *repository) {
		evil(r, r.dir+"-evil")
		write(r.dir+"/.git/objects/info/alternates", r.dir+"-evil/.git/objects\n/dev\n")
	}},
	{name: "head-outside", title: "a HEAD that leads to a file outside", after: func(r *repository) { write(r.entry()+"/HEAD", "ref: ../../../../../../etc/passwd\n") }},
	{name: "gitignore-link", title: "a .gitignore that is /dev/zero", after: func(r *repository) { must(os.Symlink("/dev/zero", r.tree+"/.gitignore")) }},
	{name: "fifo-gitignore", title: "a FIFO called .gitignore", slow: true, after: func(r *repository) { fifo(r.tree + "/sub/.gitignore") }},
	{name: "fifo-gitattributes", title: "a FIFO called .gitattributes", slow: true, after: func(r *repository) {
		write(r.tree+"/sub/b.txt", "changed\n")
		fifo(r.tree + "/sub/.gitattributes")
	}},
	{name: "fifo-top-gitattributes", title: "a FIFO in the place of the top .gitattributes", slow: true, after: func(r *repository) { fifo(r.tree + "/.gitattributes") }},
	{name: "fifo-git", title: "a FIFO called .git", after: func(r *repository) { fifo(r.tree + "/.git") }},
	{name: "fifo-file", title: "FIFOs in the place of files", after: func(r *repository) { fifo(r.tree + "/a.txt"); fifo(r.tree + "/new") }},
	{name: "fifo-worktreeinclude", title: "a FIFO called .worktreeinclude", before: func(r *repository) { fifo(r.dir + "/.worktreeinclude") }},
	{name: "fifo-toml", title: "a FIFO called .middleman.toml", before: func(r *repository) { fifo(r.dir + "/.middleman.toml") }},
	{name: "socket-file", title: "a socket in the place of a file", after: func(r *repository) {
		must(os.Remove(r.tree + "/a.txt"))
		fd := must1(syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0))
		must(syscall.Bind(fd, &syscall.SockaddrUnix{Name: r.tree + "/a.txt"}))
		syscall.Close(fd)
	}},
	{name: "round-links", title: "links that go round", after: func(r *repository) {
		must(errors.Join(os.Symlink(".", r.tree+"/round"), os.Symlink("loop", r.tree+"/loop"), os.RemoveAll(r.tree+"/sub"), os.Symlink("/", r.tree+"/sub")))
	}},
}

func fifo(path string) {
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		must(err)
	}
	must(syscall.Mkfifo(path, 0o644))
}

// entry is git's own directory for the worktree.
func (r *repository) entry() string {
	return filepath.Join(r.dir, ".git", "worktrees", filepath.Base(r.gitIn(r.tree, "rev-parse", "--git-dir")))
}

// evil makes a repository that has git run the canary in every way.
func evil(r *repository, dir string) {
	r.git("init", "-q", dir)
	write(dir+"/.gitattributes", "* filter=evil diff=evil merge=evil\n")
	r.gitIn(dir, "add", "-A")
	r.gitIn(dir, "commit", "-qm", "evil")
	for _, key := range []string{"core.fsmonitor", "diff.external", "filter.evil.clean", "filter.evil.process", "diff.evil.textconv", "core.pager", "core.sshCommand"} {
		r.gitIn(dir, "config", key, r.canary.program)
	}
}

// plantAndLook is a probe's whole life. What is refused from the beginning is
// refused.
func plantAndLook(w *world, p planted) error {
	r := w.newRepository()
	if p.before != nil {
		p.before(r)
	}
	var more []string
	if p.base != "" {
		more = []string{"--base", p.base}
	}
	o := r.begin(more...)
	if err := r.canary.sang("middleman new"); err != nil {
		return fmt.Errorf("%w: %s", err, o)
	}
	if o.late && !p.mayWait {
		return fmt.Errorf("middleman new hangs: %s", o)
	}
	if r.tree == "" {
		return r.alive()
	}
	if p.after != nil {
		p.after(r)
	} else {
		r.change()
	}
	return r.watched(20 * time.Second)
}
