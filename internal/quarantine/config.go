package quarantine

import (
	"slices"
	"strings"
)

// Settings that the private directory gets, by section. "*" is every key of it. All of
// them say what content is, or what git does with it; none holds a credential.
var copied = map[string][]string{
	"core": {"repositoryformatversion", "filemode", "bare", "worktree", "logallrefupdates", "ignorecase", "precomposeunicode",
		"symlinks", "autocrlf", "eol", "safecrlf", "sparsecheckout", "sparsecheckoutcone", "longpaths", "protecthfs", "protectntfs",
		"trustctime", "checkstat", "checkroundtripencoding", "excludesfile", "attributesfile", "abbrev", "quotepath", "whitespace",
		"commentchar", "compression", "loosecompression", "bigfilethreshold", "notesref", "warnambiguousrefs"},
	"extensions": {"objectformat", "partialclone", "worktreeconfig"},
	"user":       {"name", "email", "useconfigonly"},
	"author":     {"name", "email"},
	"committer":  {"name", "email"},
	"branch":     {"*"},
	"remote": {"url", "pushurl", "fetch", "push", "tagopt", "prune", "prunetags", "mirror", "skipdefaultupdate", "skipfetchall",
		"promisor", "partialclonefilter"},
	"remotes": {"*"}, "submodule": {"url", "active", "branch", "ignore", "fetchrecursesubmodules", "shallow", "recurse"},
	"filter": {"clean", "smudge", "process", "required"},
	"lfs":    {"url", "pushurl", "locksverify", "fetchinclude", "fetchexclude", "repositoryformatversion"},
	"merge":  {"ff", "conflictstyle", "renames", "renamelimit", "directoryrenames", "renormalize", "log", "branchdesc", "stat", "autostash"},
	"diff":   {"algorithm", "renames", "renamelimit", "context", "mnemonicprefix", "noprefix", "submodule", "indentheuristic", "ignoresubmodules", "binary", "xfuncname", "orderfile"},
	"pull":   {"ff", "rebase"}, "push": {"default", "followtags", "autosetupremote"},
	"rebase": {"autosquash", "autostash", "updaterefs", "stat", "missingcommitscheck", "abbreviatecommands"},
	"commit": {"cleanup", "status", "template", "verbose"}, "tag": {"sort"}, "fetch": {"prune", "prunetags", "writecommitgraph"},
	"index": {"sparse", "version", "threads"}, "i18n": {"*"}, "rerere": {"*"}, "status": {"*"}, "log": {"date", "follow", "decorate", "mailmap"},
	"notes": {"*"}, "init": {"defaultbranch"}, "checkout": {"*"}, "am": {"*"}, "apply": {"*"}, "blame": {"*"}, "grep": {"*"}, "advice": {"*"},
	"column": {"*"}, "color": {"*"}, "url": {"insteadof", "pushinsteadof"}, "mailmap": {"blob", "file"}, "sparse": {"*"}, "feature": {"*"},
}

// addresses are settings whose value is an address, which may have a password in it.
var addresses = []string{"url", "pushurl"}

// keepSetting says whether a setting of the repository is copied, and with which value.
func keepSetting(key, value string) (string, bool) {
	first, last := strings.IndexByte(key, '.'), strings.LastIndexByte(key, '.')
	if first < 0 {
		return "", false
	}
	section, name := key[:first], key[last+1:]
	if section == "core" && first != last || !slices.ContainsFunc(copied[section], func(k string) bool { return k == "*" || k == name }) {
		return "", false
	}
	if section == "url" && hasSecret(key[first+1:last]) {
		return "", false // the password is in the key
	}
	if slices.Contains(addresses, name) {
		value = withoutSecret(value)
	}
	return value, true
}

// hasSecret reports whether an address has a password, or a token in place of a user.
func hasSecret(address string) bool { return withoutSecret(address) != address }

// withoutSecret removes user and password from the address of a web server. The user of
// an ssh address stays: it is no secret.
func withoutSecret(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address // a path, or user@host:path
	}
	authority, path, slash := strings.Cut(rest, "/")
	at := strings.LastIndexByte(authority, '@')
	if at < 0 {
		return address
	}
	user := authority[:at]
	if scheme == "ssh" || scheme == "git+ssh" || scheme == "ssh+git" {
		name, _, has := strings.Cut(user, ":")
		if !has {
			return address
		}
		user = name + "@"
	} else {
		user = ""
	}
	address = scheme + "://" + user + authority[at+1:]
	if slash {
		address += "/" + path
	}
	return address
}
