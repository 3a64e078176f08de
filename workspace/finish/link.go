package finish

import (
	"net/url"
	"path/filepath"
	"strings"
	"unicode"
)

const (
	maxSaid = 32 << 10 // bytes of what a remote prints that are read
	maxLink = 2000     // bytes
)

// remoteSays collects what git prints while it pushes. Lines of the remote begin
// with "remote: ".
type remoteSays struct{ text []byte }

func (r *remoteSays) Write(p []byte) (int, error) {
	r.text = append(r.text, p[:min(len(p), maxSaid-len(r.text))]...)
	return len(p), nil
}

// all returns all lines that are not empty.
func (r *remoteSays) all() []string {
	return strings.FieldsFunc(string(r.text), func(c rune) bool { return c == '\n' || c == '\r' })
}

// why returns why the remote could not be reached, by git or by the program that reaches it,
// or "". git's own words for it follow what that program has said, and name no cause.
func (r *remoteSays) why() (why string) {
	for _, line := range r.all() {
		switch {
		case strings.HasPrefix(line, "fatal: Could not read from remote repository"):
			return why
		case strings.HasPrefix(line, "remote:"), strings.HasPrefix(line, "Warning:"), strings.HasPrefix(line, "hint:"), strings.HasPrefix(line, "error: failed to push some refs"):
		default:
			why = strings.TrimPrefix(strings.TrimSpace(line), "fatal: ")
		}
	}
	return why
}

// lines returns the lines of the remote, without what marks them.
func (r *remoteSays) lines() (lines []string) {
	for _, line := range r.all() {
		if said, ok := strings.CutPrefix(line, "remote:"); ok {
			lines = append(lines, strings.TrimSpace(said))
		}
	}
	return lines
}

// last returns the last line that the remote printed with a letter in it.
func (r *remoteSays) last() string {
	lines := r.lines()
	for i := len(lines) - 1; i >= 0; i-- {
		if strings.ContainsFunc(lines[i], unicode.IsLetter) {
			return lines[i]
		}
	}
	return ""
}

// link returns the address that the remote names for a pull or merge request, or
// "". Forges print others too, so it must follow these words.
func (r *remoteSays) link() string {
	about := false
	for _, line := range r.lines() {
		lower := strings.ToLower(line)
		about = about || strings.Contains(lower, "pull request") || strings.Contains(lower, "merge request")
		if !about {
			continue
		}
		for _, word := range strings.Fields(line) {
			if isLink(word) {
				return word
			}
		}
	}
	return ""
}

// isLink reports whether word is an address of a web page that can be printed as
// it is.
func isLink(word string) bool {
	u, err := url.Parse(word)
	plain := len(word) <= maxLink && !strings.ContainsFunc(word, func(c rune) bool { return c <= ' ' || c >= 0x7f })
	return plain && err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Hostname() != "" && u.User == nil
}

// splitURL returns host and path of a remote's URL. remote is false for a
// directory of this machine.
func splitURL(text string) (host, path string, remote bool) {
	if strings.HasPrefix(text, "file:") || filepath.VolumeName(text) != "" {
		return "", "", false
	}
	if strings.Contains(text, "://") {
		u, err := url.Parse(text)
		if err != nil {
			return "", "", true
		}
		return u.Hostname(), strings.Trim(u.Path, "/"), true
	}
	// As git decides it: a colon before the first slash ends a host.
	host, path, ok := strings.Cut(text, ":")
	if !ok || strings.Contains(host, "/") || host == "" {
		return "", "", false
	}
	return host[strings.LastIndexByte(host, '@')+1:], strings.Trim(path, "/"), true
}

// forges are the forges whose addresses have a known form, by the first or the
// last label of their host's name.
var forges = []struct {
	name string
	form func(repository, branch, base string) string
}{
	{"github", func(repository, branch, base string) string {
		return repository + "/compare/" + segment(base, "...") + escape(branch) + "?expand=1"
	}},
	{"gitlab", func(repository, branch, base string) string {
		query := url.Values{"merge_request[source_branch]": {branch}}
		if base != "" {
			query.Set("merge_request[target_branch]", base)
		}
		return repository + "/-/merge_requests/new?" + query.Encode()
	}},
	{"bitbucket", func(repository, branch, base string) string {
		query := url.Values{"source": {branch}}
		if base != "" {
			query.Set("dest", base)
		}
		return repository + "/pull-requests/new?" + query.Encode()
	}},
	{"codeberg", compareForm},
	{"gitea", compareForm},
	{"forgejo", compareForm},
}

func compareForm(repository, branch, base string) string {
	return repository + "/compare/" + segment(base, "...") + escape(branch)
}

// segment returns a base with what separates it from the branch, or "".
func segment(base, end string) string {
	if base == "" {
		return ""
	}
	return escape(base) + end
}

// escape escapes a branch's name in a path. Forges take its slashes as they are.
func escape(branch string) string { return strings.ReplaceAll(url.PathEscape(branch), "%2F", "/") }

// linkByForm returns the address for a new pull request, by the form of the
// remote's URL, or "" if the forge is not known. base is the workspace's base; only
// a branch is one.
func linkByForm(remote, branch, base string) string {
	host, path, _ := splitURL(remote)
	path = strings.TrimSuffix(path, ".git")
	if _, local, ok := strings.Cut(base, "/"); ok && strings.HasPrefix(base, "origin/") {
		base = local
	}
	if base == "HEAD" || strings.Contains(base, ":") {
		base = ""
	}
	first, _, _ := strings.Cut(host, ".")
	for _, forge := range forges {
		if !strings.EqualFold(first, forge.name) || strings.Count(path, "/") < 1 || base == branch {
			continue
		}
		if link := forge.form("https://"+host+"/"+path, branch, base); isLink(link) {
			return link
		}
	}
	return ""
}
