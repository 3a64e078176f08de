package approve

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// gitOptions are the options of a git command that run no other program, open no
// editor, reach no remote and lose no work.
type gitOptions struct {
	flags  []string // without a value
	values []string // with one that is part of the argument: --name=VALUE, -n5
	next   []string // with one, that may be the next argument too
	number bool     // -5 is one
	// want reports whether the arguments that are no options are ones to allow,
	// with the options that are there. Nil allows any.
	want func(given map[string]bool, rest []string) bool
	// follows says that it reads tracked files through links that are where their
	// directories were.
	follows bool
	// writes decides on what the command changes, by its arguments. Nil means that it
	// changes nothing that they name.
	writes command
}

// git decides on a git command that is run in dir.
func (p Place) git(dir string, args []string) Verdict {
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch {
		case args[0] == "--no-pager" || args[0] == "-P" || args[0] == "--no-optional-locks":
			args = args[1:]
		case args[0] == "-C" && len(args) > 1:
			if v := p.file(dir, args[1], false); v.Decision != Allow {
				return v
			}
			dir, args = join(dir, args[1]), args[2:]
		default:
			return ask("git-option", "git's option %s may run a program or lead elsewhere", args[0])
		}
	}
	if len(args) == 0 {
		return ask("git-command", "git without a command")
	}
	name, args := args[0], args[1:]
	if len(args) > 0 && gitGroups[name] {
		name, args = name+" "+args[0], args[1:]
	}
	o, known := gitCommands()[name]
	if !known {
		return ask("git-command", "git %s may run a program, reach a remote or lose work", name)
	}
	rest, v := o.take(name, args)
	if v.Decision == Allow {
		v = p.gitPaths(dir, rest)
	}
	if v.Decision == Allow && o.writes != nil {
		v = o.writes(p, dir, rest)
	}
	if v.Decision == Allow {
		v = p.gitPlace(dir)
	}
	if v.Decision == Allow && o.follows {
		v = worse(v, p.behindLinks())
	}
	return v
}

// behindLinks decides on reading tracked files through links.
func (p Place) behindLinks() Verdict {
	if p.Linked == nil {
		return ask("git-unknown", "which files git reads cannot be told")
	}
	links, err := p.Linked()
	if err != nil {
		return ask("git-settings", "%v", err)
	}
	return p.all(p.Root, links, false)
}

// gitGroups are the commands whose first argument is a command again.
var gitGroups = map[string]bool{"stash": true, "worktree": true, "reflog": true}

var onGit = allow("git", "it is git in the session's worktree")

// take checks the arguments of a command, and returns those that are no options.
func (o gitOptions) take(name string, args []string) (rest []string, v Verdict) {
	given := map[string]bool{}
	refuse := func(arg string) ([]string, Verdict) {
		return nil, ask("git-option", "git %s %s may run a program, reach a remote or lose work", name, arg)
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if arg == "--" {
			rest = append(rest, args...)
			break
		}
		if len(arg) < 2 || arg[0] != '-' {
			rest = append(rest, arg)
			continue
		}
		option, value, valued := strings.Cut(arg, "=")
		switch {
		case strings.Contains(value, "%G"), strings.Contains(value, "%(signature"): // such a format runs the program that checks signatures
			return refuse(arg)
		case slices.Contains(o.flags, arg):
			given[arg] = true
		case o.number && isNumber(arg[1:]):
		case strings.HasPrefix(arg, "--") && valued && (slices.Contains(o.values, option) || slices.Contains(o.next, option)):
			given[option] = true
		default:
			more, ok := o.cluster(arg, given)
			// What looks like an option may be one, to a git that takes no value there.
			if !ok || more && (len(args) == 0 || strings.HasPrefix(args[0], "-")) {
				return refuse(arg)
			}
			if more {
				args = args[1:]
			}
		}
	}
	if o.want != nil && !o.want(given, rest) {
		return refuse(strings.Join(rest, " "))
	}
	return rest, onGit
}

// cluster takes an option whose value is the next argument, or letters that are
// written as one argument, such as -am. more says that the next argument belongs
// to it.
func (o gitOptions) cluster(arg string, given map[string]bool) (more, ok bool) {
	if strings.HasPrefix(arg, "--") {
		given[arg] = true
		return true, slices.Contains(o.next, arg)
	}
	for i := 1; i < len(arg); i++ {
		letter := "-" + arg[i:i+1]
		given[letter] = true
		switch {
		case slices.Contains(o.flags, letter):
		case slices.Contains(o.next, letter):
			return i == len(arg)-1, true
		case slices.Contains(o.values, letter):
			return false, i < len(arg)-1
		default:
			return false, false
		}
	}
	return false, true
}

// gitPaths decides on revisions and paths. Which of them a word is, git alone
// knows; so each must be allowed as a path.
func (p Place) gitPaths(dir string, rest []string) Verdict {
	for _, word := range rest {
		if word == "" || strings.HasPrefix(word, ":") || strings.Contains(word, "::") {
			return ask("git-argument", "git's argument %q may lead elsewhere", word)
		}
		if v := p.worktreeOnly(dir, word); v.Decision != Allow {
			return v
		}
	}
	return onGit
}

// gitRemove is git rm, of paths without patterns: one may match any file.
func gitRemove(p Place, dir string, paths []string) Verdict {
	if slices.ContainsFunc(paths, func(path string) bool { return strings.ContainsAny(path, "*?[") }) {
		return ask("git-argument", "git rm with a pattern may remove any file")
	}
	return p.all(dir, paths, true)
}

// gitReset is git reset, of the index alone: to another commit it takes those in between
// off the branch. What a word means git alone knows, but it refuses one that is both a
// path and a commit.
func gitReset(p Place, dir string, words []string) Verdict {
	for i, word := range words {
		if i == 0 && (word == "HEAD" || word == "@") {
			continue
		}
		if _, err := os.Lstat(join(dir, word)); err != nil {
			return ask("git-argument", "git reset to %s may take commits off the branch", word)
		}
	}
	return onGit
}

// worktreeOnly decides on reading a path of the worktree; a temporary file is none.
func (p Place) worktreeOnly(dir, path string) Verdict {
	v := p.file(dir, path, false)
	if v.Decision == Allow && v.Rule != "worktree" {
		return ask("git-argument", "%s is not in the worktree", path)
	}
	return v
}

// gitPlace decides whether git in dir finds the session's own repository, and
// runs nothing that is named there.
func (p Place) gitPlace(dir string) Verdict {
	real, info, err := resolve(dir)
	if err != nil || info == nil || !info.IsDir() {
		return ask("unresolved", "%s cannot be followed", dir)
	}
	if v := p.worktreeOnly(dir, "."); v.Decision != Allow {
		return v
	}
	for at := real; !same(at, p.Root) && filepath.Dir(at) != at; at = filepath.Dir(at) {
		if holdsRepository(at) {
			return ask("nested-repository", "%s is another repository", at)
		}
	}
	if isBare(p.Root) {
		return ask("nested-repository", "%s looks like a repository itself", p.Root)
	}
	if p.Git == nil {
		return ask("git-unknown", "the session's directory is not in a repository that middleman knows")
	}
	if err := p.Git(); err != nil {
		return ask("git-settings", "%v", err)
	}
	return onGit
}

// holdsRepository reports whether git takes dir for a repository, or may.
func holdsRepository(dir string) bool {
	entries, err := os.ReadDir(dir)
	return err != nil || isBare(dir) || slices.ContainsFunc(entries, func(e os.DirEntry) bool { return isGitName(e.Name()) })
}

// isBare reports whether dir has what a bare repository has.
func isBare(dir string) bool {
	for _, name := range []string{"HEAD", "objects", "refs"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			return false
		}
	}
	return true
}

// gitCommands are the commands that are known, with a second word where that is
// a command too.
var gitCommands = sync.OnceValue(func() map[string]gitOptions {
	show := []string{"-p", "--patch", "--stat", "--numstat", "--shortstat", "--name-only", "--name-status", "--summary", "-w", "-b",
		"--color", "--no-color", "--word-diff", "--minimal", "--histogram", "--no-ext-diff", "--no-textconv", "--no-patch", "-s", "-M", "--color=never", "--color=always"}
	context := []string{"-U", "--unified", "--diff-filter", "--stat", "--abbrev"}
	log := append([]string{"--oneline", "--graph", "--all", "--decorate", "--no-decorate", "--merges", "--no-merges", "--first-parent",
		"--reverse", "--follow", "--branches", "--tags", "--remotes", "--abbrev-commit", "-i"}, show...)
	choose := append([]string{"--skip", "--format", "--pretty", "--date", "-S", "-G", "--decorate"}, context...)
	limit := []string{"-n", "--max-count", "--since", "--until", "--after", "--before", "--author", "--grep"}
	none := func(_ map[string]bool, rest []string) bool { return len(rest) == 0 }
	has := func(names ...string) func(map[string]bool, []string) bool {
		return func(given map[string]bool, _ []string) bool {
			return slices.ContainsFunc(names, func(name string) bool { return given[name] })
		}
	}
	return map[string]gitOptions{
		"status": {flags: []string{"-s", "--short", "-b", "--branch", "--porcelain", "--porcelain=v1", "--porcelain=v2", "--long", "--ignored", "-u", "-uno", "-uall", "-z"},
			values: []string{"--untracked-files"}},
		"diff":         {flags: append([]string{"--cached", "--staged", "--check", "--merge-base"}, show...), values: context},
		"log":          {flags: log, values: choose, next: limit, number: true},
		"show":         {flags: log, values: choose, next: limit, number: true},
		"rev-list":     {flags: []string{"--count", "--all", "--left-right", "--first-parent", "--reverse"}, next: []string{"-n", "--max-count"}, number: true},
		"rev-parse":    {flags: []string{"--abbrev-ref", "--short", "--verify", "--show-toplevel", "--show-prefix", "--git-dir", "--git-common-dir", "--is-inside-work-tree", "-q", "--quiet"}},
		"merge-base":   {flags: []string{"--is-ancestor", "--all"}},
		"describe":     {flags: []string{"--tags", "--always", "--dirty", "--long", "--all"}, values: []string{"--abbrev"}},
		"name-rev":     {flags: []string{"--name-only", "--tags"}},
		"shortlog":     {flags: []string{"-s", "-n", "-e", "-sn", "-sne"}, want: func(_ map[string]bool, rest []string) bool { return len(rest) > 0 }},
		"ls-files":     {flags: []string{"-m", "-o", "-s", "-c", "-d", "-z", "--others", "--exclude-standard", "--cached", "--modified", "--deleted", "--stage"}},
		"ls-tree":      {flags: []string{"-r", "-l", "-d", "-t", "-z", "--name-only"}},
		"cat-file":     {flags: []string{"-p", "-t", "-s", "-e"}},
		"blame":        {flags: []string{"-w", "-C", "-M", "-e", "-s"}, next: []string{"-L"}},
		"grep":         {flags: []string{"-n", "-i", "-l", "-w", "-c", "-E", "-F", "-v", "-h", "-H", "--cached"}, next: []string{"-A", "-B", "-C"}, follows: true},
		"for-each-ref": {values: []string{"--format", "--sort", "--count"}},
		"branch":       {flags: []string{"-a", "-r", "-v", "-vv", "--list", "--show-current", "--all", "--remotes"}},
		"tag":          {flags: []string{"-l", "--list", "-n"}, want: has("-l", "--list", "-n")},
		"remote":       {flags: []string{"-v", "--verbose"}, want: none},
		"reflog":       {want: none}, "reflog show": {next: []string{"-n"}, number: true},
		"worktree list": {flags: []string{"--porcelain", "-v"}, want: none},
		"stash list":    {want: none}, "stash show": {flags: show},
		"stash":      {want: none},
		"stash push": {flags: []string{"-u", "--include-untracked", "-k", "--keep-index", "-q"}, next: []string{"-m", "--message"}},
		// Worktrees share their stashes: pop may take away what another one has put there.
		"stash apply": {flags: []string{"--index", "-q"}},
		"add":         {flags: []string{"-A", "--all", "-u", "--update", "-v", "-n", "--dry-run", "-N", "--intent-to-add"}},
		"commit": {flags: []string{"-a", "--all", "-q", "--quiet", "--amend", "--no-edit", "--allow-empty", "-s", "--signoff"}, next: []string{"-m", "--message"},
			want: has("-m", "--message", "--no-edit")},
		"switch":   {flags: []string{"-q"}, next: []string{"-c", "--create"}},
		"checkout": {flags: []string{"-q"}, next: []string{"-b"}, want: has("-b")},
		"restore":  {flags: []string{"--staged", "-S", "-q"}, values: []string{"--source", "-s"}, want: has("--staged", "-S")},
		"reset":    {flags: []string{"-q", "--soft", "--mixed"}, writes: gitReset},
		"mv":       {flags: []string{"-v", "-n", "-k"}, writes: copies(options{}, true)},
		"rm":       {flags: []string{"-q", "-n", "-r", "--cached"}, writes: gitRemove},
	}
})
