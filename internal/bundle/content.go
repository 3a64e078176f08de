package bundle

import (
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// patterns of what no text of a bundle may have, by what they are.
var patterns = sync.OnceValue(func() []struct {
	what string
	is   *regexp.Regexp
} {
	type pattern = struct {
		what string
		is   *regexp.Regexp
	}
	const begin = `(^|[\s"'=:,;(\[{<>|&@])`
	compile := func(what string, texts ...string) (all []pattern) {
		for _, text := range texts {
			all = append(all, pattern{what, regexp.MustCompile(text)})
		}
		return all
	}
	var all []pattern
	all = append(all, compile("has a percent-encoded character: write it plainly", `%[0-9A-Fa-f]{2}`)...)
	all = append(all, compile("has a relative path outside of the workspace", `(^|[\\/\s"'=:,])\.\.([\\/]|$)`)...)
	all = append(all, compile("has the path of a session, a socket or a cache: only the host names these",
		`(^|/)(sock|socket)$`, `\.(sock|socket|pipe)$`, `(^|[/\s=:])(sessions?|journals?|sockets|pods|caches?|run|tmp)/`, `\.jsonl$`,
		begin+`\.[A-Za-z0-9_-]+/`, `/\.[A-Za-z0-9_-]+(/|$)`, `(^|=)\.(env|netrc|ssh|aws|git|cache|pgpass|npmrc|gnupg|yoi)$`)...)
	all = append(all, compile("has a path of a host: declare a mount-grant instead",
		begin+`(/|~|\./)`, begin+`[A-Za-z]:[\\/]`, `\\\\|[A-Za-z0-9]\\[A-Za-z0-9]`, `(?i)file:`, `\$\{?(HOME|PWD|OLDPWD|TMPDIR|USER|LOGNAME|XDG_[A-Z_]+)`)...)
	all = append(all, compile("has the value of a secret: declare a secret-ref instead",
		`(?i)(pass(word|wd|phrase)?|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credentials?|authorization)["']?\s*[=:]\s*["']?[^\s"']`,
		`(?i)secret[-_ ]?value`, `(?i)\bbearer\s+\S`, `\b[srp]k-[A-Za-z0-9_-]{12,}`, `\b[sr]k_(live|test)_`, `\bgh[pousr]_[A-Za-z0-9]{10,}`, `github_pat_`, `\bglpat-`,
		`\bxox[abeprs]-`, `\b(AKIA|ASIA)[0-9A-Z]{12,}`, `\bAIza[0-9A-Za-z_-]{20,}`, `\bya29\.`, `-----BEGIN`, `\beyJ[A-Za-z0-9_-]{6,}\.`, `\bnpm_[A-Za-z0-9]{16,}`,
		`://[^/\s@]+@`, `\b[0-9A-Fa-f]{32,}\b`, `[A-Za-z0-9+=]{48,}`)...)
	return all
})

// urls takes the beginning of a URL, whose slashes begin no path of a host.
var urls = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(https?|ssh|git|wss?)://([^/\s@]+@)?`) })

// hostile says why a text cannot be part of a bundle, "" if it can.
func hostile(text string) string {
	if !utf8.ValidString(text) {
		return "is not UTF-8"
	}
	for _, c := range text {
		if unicode.Is(unicode.C, c) || c == '\u2028' || c == '\u2029' {
			return "has a control character or an invisible one"
		}
	}
	plain := urls().ReplaceAllStringFunc(text, func(url string) string {
		if strings.HasSuffix(url, "@") {
			return url // the user and the password of a URL are a secret
		}
		return "url-"
	})
	for _, p := range patterns() {
		if p.is.MatchString(plain) {
			return p.what
		}
	}
	return ""
}
