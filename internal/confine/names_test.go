package confine

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"middleman/internal/environ"
)

// Words of tmux are those that tmux has.
func TestTmuxCommands(t *testing.T) {
	for text, want := range map[string][][]string{
		"set -g x y\nrun 'a b'":             {{"set", "-g", "x", "y"}, {"run", "a b"}},
		"a ; b;c \\; d e\\; f":              {{"a"}, {"b"}, {"c"}, {"d", "e"}, {"f"}},
		"a # b\n#c\nd '#e' #{f} \"#(g h)\"": {{"a"}, {"d", "#e", "#{f}", "#(g h)"}},
		"a \\\n b\r\nc":                     {{"a", "b"}, {"c"}},
		"if x { a b } { c #{d} }":           {{"if", "x"}, {"a", "b"}, {"c", "#{d}"}},
		"a 'b\nc' \"d\\\"e\" f\\ g ''":      {{"a", "b\nc", "d\"e", "f g", ""}},
	} {
		if got := tmuxCommands(text); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// Lines of ssh are those that ssh_config(5) describes.
func TestSSHWords(t *testing.T) {
	for line, want := range map[string][]string{
		"Include a b":             {"include", "a", "b"},
		"\tINCLUDE = a\r\n":       {"include", "a"},
		"Include=\"a b\" 'c d' e": {"include", "a b", "c d", "e"},
		`"Include" a\ b c\\ "\""`: {"include", "a b", `c\`, `"`},
		"Include a # b":           {"include", "a"},
		"# Include a":             {""},
		"":                        {""},
		"Include":                 {"include"},
	} {
		key, rest := sshSetting(line)
		if got := append([]string{key}, sshWords(rest)...); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

// Shell commands in formats end where their brackets do.
func TestInFormats(t *testing.T) {
	for text, want := range map[string][]string{
		"#(a)": {"a"}, "x #(a (b) c) y #(d": {"a (b) c", "d"}, "#{?x,#(a),#(b)}": {"a", "b"}, "(a) #a": nil,
	} {
		if got := inFormats(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// What a shell makes of braces.
func TestWithoutBraces(t *testing.T) {
	for text, want := range map[string]string{
		"a": "a", "${A}/b": "$A/b", "${A:-$HOME/b}/c": "$HOME/b/c", "${A-${B}}": "$B", "${A:=/b}": "/b", "${A": "${A", "}${": "}${",
	} {
		if got := withoutBraces(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

// No settings make a start fail or wait, and what is named is absolute.
func FuzzNames(f *testing.F) {
	for _, text := range []string{
		"source-file -q ~/a/*.conf ; run 'x y' # z\nif x { bind a \"source #{@b}\" }\n@x=y\nset -g @b ~/c\n#(d (e))",
		"Host x\nProxyCommand=sh -c \"~/a %h\"\nInclude \"b c\" d*\nMatch !exec 'e f'\nIdentityFile %d/${X}/%h",
		"export ZDOTDIR=${A:-$HOME/b} ENV='c'; . ~/d\n: ${BASH_ENV:=~/e}", "'", "\\", "${${", "#{", "@a=$a/$a/", "A=$A/$A/$A/\nA=$A/$A/\nx $A/",
	} {
		f.Add(text)
	}
	home := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		b := &builder{Maker: Maker{Home: home}, env: &environ.Environment{}}
		for _, words := range tmuxCommands(text) {
			if len(words) == 0 {
				t.Errorf("%q: a command without words", text)
			}
			var quoted []string
			for _, word := range words {
				quoted = append(quoted, "'"+strings.ReplaceAll(word, "'", `'\''`)+"'")
			}
			if again := tmuxCommands(strings.Join(quoted, " ")); !strings.Contains(text, "\r") && !strings.Contains(strings.Join(words, ""), "\\\n") && (len(again) != 1 || !slices.Equal(again[0], words)) {
				t.Errorf("%q is read as %q", quoted, again)
			}
		}
		file := filepath.Join(home, "file")
		t1 := tmuxReader{follower{b: b, file: file, seen: map[reading]bool{}}, map[string]string{"HOME": home}}
		t1.text(text, 0)
		s := follower{b: b, file: file, seen: map[reading]bool{}}
		for line := range strings.Lines(text) {
			s.sshLine(line, home)
			s.startLine(line)
		}
		for _, r := range append(t1.all, s.all...) {
			if !filepath.IsAbs(r.path) {
				t.Errorf("%q names %q", text, r.path)
			}
		}
		if len(t1.files) > maxFollowed || len(s.files) > maxFollowed || len(t1.all) > maxNamed || len(s.all) > maxNamed {
			t.Errorf("%q has no end", text)
		}
	})
}

// A file that is no regular one, or that does not end, holds nothing up.
func TestHead(t *testing.T) {
	for _, path := range []string{"/dev/zero", "/none", t.TempDir()} {
		if text := head(path); text != "" {
			t.Errorf("%s: %d bytes", path, len(text))
		}
	}
}
