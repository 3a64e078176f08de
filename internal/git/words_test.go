package git

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// Of a command the first word is the program, and other words that are paths count too.
func TestNamedBySetting(t *testing.T) {
	home := t.TempDir()
	for _, name := range []string{"dot/alq", "two words/ed", "/dot/there is"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		key, value string
		want       []string // below the home directory, or names of programs
	}{
		{"core.editor", home + "/ed -w", []string{"/ed"}},
		{"core.editor", "ed -w", []string{"ed"}},
		{"core.editor", `"` + home + `/two words/ed" -w`, []string{"/two words/ed"}},
		{"core.editor", home + `/two\ words/ed -w`, []string{"/two words/ed"}},
		{"core.editor", "env X=~/x ed", []string{"/x", "ed"}},
		{"core.editor", `env -S "~/ed -w"`, []string{"/ed"}},
		{"core.sshcommand", home + "/ssh -i x -F ~/conf", []string{"/ssh", "/conf"}},
		{"core.gitproxy", home + "/proxy for example.org", []string{"/proxy"}},
		{"filter.f.clean", home + "/filt %f", []string{"/filt"}},
		{"filter.f.clean", `sh -c "~/filt %f"`, []string{"sh", "/filt"}},
		{"filter.f.clean", "filt %f <~/in | other", []string{"filt", "/in", "other"}},
		{"merge.z.driver", home + "/mz %O %A", []string{"/mz"}},
		{"merge.z.driver", "~/mz --with=~/x %O", []string{"/mz", "/x"}},
		{"diff.d.textconv", `python3 "~/dot/there is"`, []string{"python3", "/dot/there is"}},
		{"diff.d.textconv", `run "~/dot/is there"`, []string{"run", "/dot/is"}},
		{"pager.log", "~/page -R", []string{"/page"}},
		{"mergetool.m.cmd", "~/m \"$LOCAL\"", []string{"/m"}},
		{"credential.helper", "cache --timeout 3", []string{"git-credential-cache"}},
		{"credential.https://x.helper", "!~/h get", []string{"/h"}},
		{"gpg.program", "gpg2", []string{"gpg2"}},
		{"gpg.program", home + "/two words/ed", []string{"/two", "/two words/ed"}},
		{"core.hookspath", home + "/two words", []string{"/two", "/two words"}},
		{"core.excludesfile", "%(prefix)/" + home + "/x", []string{"/x"}},
		{"core.attributesfile", ":(optional)~/attributes", []string{"/attributes"}},
		{"commit.template", ":(optional)%(prefix)/" + home + "/t", []string{"/t"}},
		{"include.path", "%(prefix)/" + home + "/inner", []string{"/inner"}},
		{"remote.o.uploadpack", home + "/up -x", []string{"/up"}},
		{"remote.o.receivepack", "~/recv", []string{"/recv"}},
		{"remote.o.url", "~/repository", nil},
		{"submodule.s.update", "!~/up", []string{"/up"}},
		{"submodule.s.update", "none", nil},
		{"alias.l", "log --format=x", nil},
		{"alias.l", "-c core.pager=~/p log", []string{"/p"}},
		{"alias.l", "!cd ~/dot && ./alq", []string{"/dot", "/dot/alq"}},
		{"alias.l", "!cd ~/dot; sub/x y; ./z", []string{"/dot", "/dot/sub/x", "/dot/z"}},
		{"alias.l", "!cd -P -- $HOME && cd dot && sh alq; sh none", []string{"sh", "/dot", "/dot/alq", "/dot/none"}},
		{"alias.l", "!cd ~/dot && git push origin a/b", []string{"/dot", "git"}},
		{"alias.l", "!(cd ~/dot && ls); ./x", []string{"/dot", "ls"}},
		{"alias.l", "!cd ~/dot; cd $X; ./x", []string{"/dot"}},
		{"alias.l", `!f() { cd ~/dot && exec ./alq "$@"; }; f`, []string{"f", "/dot", "/dot/alq"}},
		{"alias.l", `!sh -c 'cd ~/dot && . ./new'`, []string{"sh", "/dot", "/dot/new"}},
	} {
		var got []string
		named, err := namedBySetting(t.Context(), tt.key, tt.value, filepath.Join(home, ".gitconfig"), home)
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range named {
			if n.Program != "" && n.Path != "" {
				t.Errorf("%+v", n)
			}
			name := n.Program
			if n.Path != "" {
				name = n.Path[len(home):]
			}
			got = append(got, name)
		}
		slices.Sort(got)
		want := slices.Sorted(slices.Values(tt.want))
		if !slices.Equal(got, want) {
			t.Errorf("%s = %s: %q, want %q", tt.key, tt.value, got, want)
		}
	}
}
