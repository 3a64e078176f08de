package confine

import (
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// sshScripts are the settings of ssh whose value a shell gets, and sshPaths those that are
// paths of what it reads, loads or runs, all in lower case.
var (
	sshScripts = []string{"proxycommand", "localcommand", "knownhostscommand"}
	sshPaths   = []string{
		"identityfile", "certificatefile", "userknownhostsfile", "globalknownhostsfile", "revokedhostkeys",
		"pkcs11provider", "smartcarddevice", "securitykeyprovider", "xauthlocation",
	}
)

// namedBySSH returns what the user's and the system's settings of ssh name, whatever the host.
func (b *builder) namedBySSH() []reading {
	f := follower{b: b, reader: "ssh", files: []string{filepath.Join(b.Home, ".ssh", "config"), "/etc/ssh/ssh_config"}}
	relative := filepath.Join(b.Home, ".ssh")
	return f.follow(func(text string) {
		base := relative
		if strings.HasPrefix(f.file, "/etc/ssh/") {
			base = "/etc/ssh"
		}
		for line := range strings.Lines(text) {
			if !f.more() {
				return
			}
			f.sshLine(line, base)
		}
	})
}

// sshLine looks through one line. A relative path that it includes is in base.
func (f *follower) sshLine(line, base string) {
	key, rest := sshSetting(line)
	switch key {
	case "":
	case "include":
		for _, path := range sshWords(rest) {
			if path = f.sshPath(path); path != "" && !filepath.IsAbs(path) {
				path = filepath.Join(base, path)
			}
			f.include("Include", path)
		}
	case "match":
		words := sshWords(rest)
		for i, word := range words {
			command, joined := cutFold(strings.TrimPrefix(word, "!"), "exec=")
			if !joined && i > 0 && strings.EqualFold(strings.TrimPrefix(words[i-1], "!"), "exec") {
				command, joined = word, true
			}
			if joined {
				f.script("Match exec", f.sshTokens(command, "%"))
			}
		}
	default:
		f.sshValue(key, rest)
	}
}

// sshValue looks at a setting that names commands or paths.
func (f *follower) sshValue(key, rest string) {
	for _, name := range sshScripts {
		if key == name {
			f.script(key, f.sshTokens(rest, "%"))
		}
	}
	for _, name := range sshPaths {
		if key != name {
			continue
		}
		for _, path := range sshWords(rest) {
			f.path(key, f.sshPath(path))
		}
	}
}

// cutFold is strings.CutPrefix whatever the case.
func cutFold(text, prefix string) (string, bool) {
	if len(text) < len(prefix) || !strings.EqualFold(text[:len(prefix)], prefix) {
		return "", false
	}
	return text[len(prefix):], true
}

// sshPath expands the beginning of a path, its variables, and the tokens that are known: another
// one may be any part of a name.
func (f *follower) sshPath(path string) string {
	path = f.sshTokens(path, "*")
	if below, is := strings.CutPrefix(path, "~/"); is {
		return filepath.Join(f.b.Home, below)
	}
	return os.Expand(path, func(name string) string {
		if name == "HOME" {
			return f.b.Home
		}
		for _, value := range f.b.values(name) {
			return value
		}
		return ""
	})
}

// sshTokens puts in what "%d", "%u" and "%%" stand for, and unknown for the others.
func (f *follower) sshTokens(text, unknown string) string {
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '%' || i+1 == len(text) {
			out.WriteByte(text[i])
			continue
		}
		i++
		switch text[i] {
		case '%':
			out.WriteByte('%')
		case 'd':
			out.WriteString(f.b.Home)
		case 'u':
			if u, err := user.Current(); err == nil {
				out.WriteString(u.Username)
			}
		default:
			out.WriteString(unknown)
		}
	}
	return out.String()
}

// sshSetting returns the keyword of a line in lower case and what follows it, "" for a line
// without one.
func sshSetting(line string) (key, rest string) {
	line = strings.Trim(line, " \t\r\n\f\v")
	if strings.HasPrefix(line, "#") {
		return "", ""
	}
	if quoted, is := strings.CutPrefix(line, `"`); is { // a keyword may have quotes too
		key, rest, _ = strings.Cut(quoted, `"`)
	} else if at := strings.IndexAny(line, " \t="); at >= 0 {
		key, rest = line[:at], line[at:]
	} else {
		key = line
	}
	rest = strings.TrimLeft(rest, " \t")
	return strings.ToLower(key), strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
}

// sshWords returns the words of what follows a keyword, without quotes, up to a comment.
func sshWords(text string) (words []string) {
	for {
		if text = strings.TrimLeft(text, " \t"); text == "" || text[0] == '#' {
			return words
		}
		var b strings.Builder
		quote, i := byte(0), 0
		for ; i < len(text) && (quote != 0 || text[i] != ' ' && text[i] != '\t'); i++ {
			switch c := text[i]; {
			case c == '\\' && i+1 < len(text) && (strings.IndexByte(`"'\`, text[i+1]) >= 0 || quote == 0 && text[i+1] == ' '):
				i++
				b.WriteByte(text[i])
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			default:
				b.WriteByte(c)
			}
		}
		words, text = append(words, b.String()), text[i:]
	}
}
