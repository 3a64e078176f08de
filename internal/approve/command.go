package approve

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// command decides on the arguments of one program, run in a directory.
type command func(p Place, dir string, args []string) Verdict

// options are those of a program that neither run another one nor name a file.
type options struct {
	flags  string   // letters without a value
	values string   // letters with a value
	number bool     // -5 is one
	long   []string // names without a value, or --name=VALUE as "name="
}

// split takes the options from args and returns the rest; ok is false if one of
// them is not known.
func (o options) split(args []string) (rest []string, ok bool) {
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg == "--":
			return append(rest, args...), true
		case len(arg) < 2 || arg[0] != '-':
			rest = append(rest, arg)
			continue
		case strings.HasPrefix(arg, "--"):
			name, _, valued := strings.Cut(arg[2:], "=")
			if valued {
				name += "="
			}
			if !slices.Contains(o.long, name) {
				return nil, false
			}
			continue
		case o.number && isNumber(arg[1:]):
			continue
		}
		for i := 1; i < len(arg); i++ {
			if strings.IndexByte(o.flags, arg[i]) >= 0 {
				continue
			}
			if strings.IndexByte(o.values, arg[i]) < 0 {
				return nil, false
			}
			if i == len(arg)-1 {
				if len(args) == 0 || strings.HasPrefix(args[0], "-") {
					return nil, false
				}
				args = args[1:]
			}
			break
		}
	}
	return rest, true
}

func isNumber(text string) bool {
	return text != "" && strings.Trim(text, "0123456789") == ""
}

// commands are the programs that only read and write the files that their
// arguments name.
var commands = sync.OnceValue(func() map[string]command {
	return map[string]command{
		"pwd":       text(options{flags: "LP"}),
		"true":      text(options{}),
		"false":     text(options{}),
		"echo":      words,
		"basename":  text(options{}),
		"dirname":   text(options{}),
		"ls":        files(options{flags: "aAlhrRtS1dFGpinsc", long: []string{"all", "almost-all", "human-readable", "recursive", "reverse", "color="}}, false, "."),
		"cat":       files(options{flags: "nbsAEvetT"}, false, ""),
		"nl":        files(options{}, false, ""),
		"tac":       files(options{}, false, ""),
		"head":      files(options{flags: "qv", values: "nc", number: true}, false, ""),
		"tail":      files(options{flags: "qv", values: "nc", number: true}, false, ""),
		"wc":        files(options{flags: "lwcmL"}, false, ""),
		"stat":      files(options{values: "c"}, false, ""),
		"file":      files(options{flags: "bi"}, false, ""),
		"du":        files(options{flags: "shac", values: "d"}, false, "."),
		"realpath":  files(options{}, false, ""),
		"diff":      diff,
		"cmp":       files(options{flags: "s"}, false, ""),
		"cut":       files(options{flags: "s", values: "dfcb"}, false, ""),
		"md5sum":    files(options{}, false, ""),
		"sha256sum": files(options{}, false, ""),
		"tree":      files(options{flags: "ad", values: "LI"}, false, "."),
		"mkdir":     files(options{flags: "pv", long: []string{"parents"}}, true, ""),
		"rmdir":     files(options{flags: "v"}, true, ""),
		"touch":     files(options{flags: "acm"}, true, ""),
		"rm":        remove,
		"cp":        copies(options{flags: "pvfn"}, false),
		"mv":        copies(options{flags: "vfn"}, true),
		"grep":      grep(options{flags: "rnilLcvwxEFohHs", values: "ABCm", long: []string{"include=", "exclude=", "exclude-dir=", "color=", "ignore-case", "line-number"}}, grepReads),
		"rg":        grep(options{flags: "nilcvwFoHS", values: "ABCmtg", long: []string{"hidden", "files-with-matches", "ignore-case", "line-number"}}, rgReads),
		"find":      find,
		"sed":       sed,
		"cd":        changeDirectory,
	}
})

var onFiles = allow("shell-files", "it reads or writes files of the worktree or temporary ones")

func badOptions(name string) Verdict {
	return ask("unknown-option", "%s has an option that is not known here", name)
}

// words allows any arguments: the program prints them.
func words(Place, string, []string) Verdict {
	return allow("shell-text", "it only prints")
}

// text is a program that works on its arguments alone.
func text(o options) command {
	return func(_ Place, _ string, args []string) Verdict {
		if _, ok := o.split(args); !ok {
			return badOptions("the command")
		}
		return allow("shell-text", "it only prints")
	}
}

// files is a program that reads or writes the files that it is given. missing
// is what it takes if it is given none, "" for its standard input.
func files(o options, write bool, missing string) command {
	return func(p Place, dir string, args []string) Verdict {
		paths, ok := o.split(args)
		if !ok {
			return badOptions("the command")
		}
		if len(paths) == 0 && missing != "" {
			paths = []string{missing}
		}
		return p.all(dir, paths, write)
	}
}

// all decides on all paths. Without one it allows: nothing is named.
func (p Place) all(dir string, paths []string, write bool) Verdict {
	verdict := onFiles
	for _, path := range paths {
		if path == "-" {
			continue // standard input
		}
		verdict = worse(verdict, p.file(dir, path, write))
	}
	return verdict
}

// at returns the file at path as a program in dir finds it, nil if there is none.
func at(dir, path string) fs.FileInfo {
	info, err := os.Stat(join(dir, path))
	if err != nil {
		return nil
	}
	return info
}

// remove is rm, of files alone: a directory may hold another repository.
func remove(p Place, dir string, args []string) Verdict {
	paths, ok := options{flags: "fiv"}.split(args)
	if !ok {
		return ask("removes-directories", "rm removes more than single files, or has an option that is not known here")
	}
	return p.all(dir, paths, true)
}

// copies is cp or mv, of files alone. If the last argument is a directory, the
// copies' names in it count.
func copies(o options, moves bool) command {
	return func(p Place, dir string, args []string) Verdict {
		paths, ok := o.split(args)
		if !ok || len(paths) < 2 {
			return badOptions("the command")
		}
		last := len(paths) - 1
		verdict := p.file(dir, paths[last], false)
		into := at(dir, paths[last])
		for _, path := range paths[:last] {
			verdict = worse(verdict, p.file(dir, path, moves))
			if info := at(dir, path); info == nil || info.IsDir() {
				verdict = worse(verdict, ask("copies-directories", "%s is a directory, or does not exist", path))
			}
			target := paths[last]
			if into != nil && into.IsDir() {
				target += string(filepath.Separator) + filepath.Base(path)
			}
			verdict = worse(verdict, p.file(dir, target, true))
		}
		if verdict.Decision == Allow {
			return onFiles
		}
		return verdict
	}
}

// grep is a program that looks for a pattern in files. reads tells from its arguments
// whether it reads all that is below the directories that it is given, and git's own too.
func grep(o options, reads func(args []string) (below, git bool)) command {
	return func(p Place, dir string, args []string) Verdict {
		rest, ok := o.split(args)
		if !ok || len(rest) == 0 {
			return badOptions("the command")
		}
		paths := rest[1:]
		if len(paths) == 0 {
			paths = []string{"."}
		}
		verdict := p.all(dir, paths, false)
		if below, git := reads(args); below {
			verdict = worse(verdict, p.below(dir, paths, !git))
		}
		return verdict
	}
}

func grepReads(args []string) (below, git bool) {
	return slices.ContainsFunc(args, func(arg string) bool { return has(arg, "-r") }), !slices.Contains(args, "--exclude-dir=.git")
}

// rgReads is for rg, which always goes down. It leaves out names that begin with a dot,
// unless a pattern of -g matches them.
func rgReads(args []string) (below, git bool) {
	for i, arg := range args {
		git = git || arg == "--hidden"
		for at := range arg {
			if arg[at] != 'g' || !has(arg, "-g") {
				continue
			}
			glob := strings.TrimPrefix(arg[at+1:], "=")
			if glob == "" && i+1 < len(args) {
				glob = args[i+1]
			}
			git = git || globsGit(glob)
		}
	}
	return true, git
}

// globsGit reports whether a pattern of -g matches a directory .git.
func globsGit(glob string) bool {
	patterns, ok := unbraced(glob)
	return !ok || !strings.HasPrefix(glob, "!") && slices.ContainsFunc(patterns, func(one string) bool {
		return matches(path.Base(strings.TrimSuffix(one, "/**")), ".git")
	})
}

// has reports whether an argument is an option, or has its letter among others.
func has(arg, option string) bool {
	if strings.HasPrefix(option, "--") || strings.HasPrefix(arg, "--") {
		return arg == option
	}
	return strings.HasPrefix(arg, "-") && strings.Contains(arg, option[1:])
}

// below decides on reading all that is below the directories among paths, where other
// workspaces and git's own directory may be. Those of repositories deeper in the
// worktree are not looked for.
func (p Place) below(dir string, paths []string, withoutGit bool) Verdict {
	for _, path := range paths {
		real, info, err := resolve(join(dir, path))
		if err != nil || info == nil || !info.IsDir() {
			continue // it has no files, or a verdict already
		}
		inner := func(other string) bool { return within(other, real) && !within(p.Root, other) }
		git, err := os.Lstat(filepath.Join(p.Root, ".git"))
		switch {
		case slices.ContainsFunc(p.Others, inner):
			return ask("other-worktree", "another workspace is in %s", real)
		case slices.ContainsFunc(p.Private, inner):
			return Verdict{Deny, "middleman", "what belongs to middleman itself is in it"}
		case !withoutGit && err == nil && git.IsDir() && within(p.Root, real):
			return ask("git-directory", "git's own directory is in %s: leave it out with --exclude-dir=.git", real)
		}
	}
	return onFiles
}

// find looks for names. Its expression may have only tests, which run nothing
// and write nothing.
func find(p Place, dir string, args []string) Verdict {
	start := slices.IndexFunc(args, func(arg string) bool { return strings.HasPrefix(arg, "-") || arg == "!" || arg == "(" })
	if start < 0 {
		start = len(args)
	}
	valued := []string{"-name", "-iname", "-path", "-type", "-maxdepth", "-mindepth", "-size", "-mtime", "-mmin"}
	alone := []string{"-print", "-print0", "-not", "!", "-o", "-a", "(", ")", "-prune", "-empty"}
	for rest := args[start:]; len(rest) > 0; {
		switch {
		case slices.Contains(alone, rest[0]):
			rest = rest[1:]
		case slices.Contains(valued, rest[0]) && len(rest) > 1:
			rest = rest[2:]
		default:
			return badOptions("find")
		}
	}
	paths := args[:start]
	if len(paths) == 0 {
		paths = []string{"."}
	}
	return p.all(dir, paths, false)
}

var printLines = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9]+(,[0-9]+)?p$`) })

// sed may print lines by number: its language can write files and run programs.
func sed(p Place, dir string, args []string) Verdict {
	if len(args) < 3 || args[0] != "-n" || !printLines().MatchString(args[1]) || strings.HasPrefix(args[2], "-") {
		return badOptions("sed")
	}
	for _, path := range args[2:] {
		if strings.HasPrefix(path, "-") {
			return badOptions("sed")
		}
	}
	return p.all(dir, args[2:], false)
}

// changeDirectory is cd into the worktree.
func changeDirectory(p Place, dir string, args []string) Verdict {
	if len(args) != 1 || strings.HasPrefix(args[0], "-") {
		return badOptions("cd")
	}
	return p.all(dir, args, false)
}
