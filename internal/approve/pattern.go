package approve

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// maxPatterns bounds what the braces of a pattern stand for.
const maxPatterns = 64

// searchTool is a tool that reads below the directory in the argument dirName,
// the files that match the pattern in the argument glob.
func searchTool(dirName, glob string, more ...string) tool {
	return func(p Place, dir string, a *arguments) Verdict {
		at, pattern := a.optional(dirName), a.optional(glob)
		a.ignore(more)
		if at == "" {
			at = "."
		}
		patterns, ok := unbraced(pattern)
		if !ok || slices.ContainsFunc(patterns, expands) || strings.Contains(pattern, `\`) || hides(strings.ReplaceAll(pattern, " ", "")) {
			return ask("pattern", "where the pattern %s leads cannot be told", pattern)
		}
		verdict := p.file(dir, at, false)
		for _, one := range patterns {
			verdict = worse(verdict, p.search(dir, at, one))
		}
		return verdict
	}
}

// search decides on reading the files below the directory at that match a pattern
// without braces. The names before its first wildcard are a path, which a tool
// follows as any other: through links too. A link that a later name matches is followed
// as well, unless it is the last.
func (p Place) search(dir, at, pattern string) Verdict {
	if filepath.IsAbs(pattern) || path.IsAbs(pattern) || strings.Contains(pattern, "..") || strings.Contains(pattern, "~") {
		return ask("pattern", "the pattern %s may lead outside", pattern)
	}
	names := strings.Split(pattern, "/")
	wild := slices.IndexFunc(names, func(name string) bool { return strings.ContainsAny(name, "*?[]()!") })
	if wild < 0 {
		wild = len(names)
	}
	top := strings.Join(append([]string{at}, names[:wild]...), "/")
	verdict := worse(p.file(dir, top, false), p.below(dir, []string{top}, true))
	for i, name := range names[wild:] {
		if wild+i < len(names)-1 && takesGit(name) {
			verdict = worse(verdict, ask("git-directory", "the pattern %s leads into git's own directory", pattern))
		}
		if matches(name, "..") && strings.Trim(name, "*") != "" && (wild+i < len(names)-1 || strings.ContainsAny(name, "[?")) {
			verdict = worse(verdict, ask("pattern", "the pattern %s may lead outside", pattern))
		}
	}
	if verdict.Decision != Allow {
		return verdict
	}
	return worse(verdict, p.linked(join(dir, top), names[wild:], wild == 0))
}

// takesGit reports whether a name of a pattern stands for .git, and not for any name.
func takesGit(name string) bool {
	if strings.Trim(name, "*") == "" {
		return false
	}
	is, err := path.Match(strings.ReplaceAll(plain(name), "[!", "[^"), ".git")
	return is || err != nil || isGitName(name) || strings.ContainsAny(name, "()")
}

// unbraced returns the patterns that one with braces stands for; ok is false if they
// cannot be told.
func unbraced(pattern string) (all []string, ok bool) {
	open := strings.IndexByte(pattern, '{')
	if open < 0 {
		return []string{pattern}, !strings.Contains(pattern, "}")
	}
	depth, from := 0, open+1
	var choices []string
	for i := open; i < len(pattern); i++ {
		switch pattern[i] {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 || depth == 1 && pattern[i] == ',' {
			choices = append(choices, pattern[from:i])
			from = i + 1
		}
		if depth > 0 {
			continue
		}
		for _, choice := range choices {
			more, ok := unbraced(pattern[:open] + choice + pattern[i+1:])
			if all = append(all, more...); !ok || len(all) > maxPatterns {
				return nil, false
			}
		}
		return all, true
	}
	return nil, false
}
