package finish

import (
	"strings"
	"testing"
)

func TestLinkOfRemote(t *testing.T) {
	for _, tt := range []struct{ name, said, want string }{
		{"github", "remote: \nremote: Create a pull request for 'fix' on GitHub by visiting:        \nremote:      https://github.com/o/r/pull/new/fix        \nremote: \nTo github.com:o/r\n", "https://github.com/o/r/pull/new/fix"},
		{"github with another link", "remote: GitHub found 3 vulnerabilities: \nremote:      https://github.com/o/r/security/dependabot\nremote: Create a pull request:\nremote:  https://github.com/o/r/pull/new/x\n", "https://github.com/o/r/pull/new/x"},
		{"gitlab", "remote: To create a merge request for fix, visit:\r\nremote:   https://gitlab.example.org/o/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=fix\n", "https://gitlab.example.org/o/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=fix"},
		{"on one line", "remote: View merge request: https://x.example/1 here\n", "https://x.example/1"},
		{"not of the remote", "Create a pull request: https://x.example/1\n", ""},
		{"another link alone", "remote: see https://x.example/1\n", ""},
		{"not a web page", "remote: pull request: javascript:alert(1) file:///etc/passwd ftp://x/y https:///x\n", ""},
		{"steers the terminal", "remote: pull request: https://x.example/\x1b]0;x\x07 https://x.example/\u202e\n", ""},
		{"a password", "remote: pull request: https://u:p@x.example/\n", ""},
		{"too long", "remote: pull request: https://x.example/" + strings.Repeat("a", maxLink) + "\n", ""},
	} {
		said := &remoteSays{}
		for part := range strings.SplitSeq(tt.said, "e") { // git prints as it comes
			said.Write([]byte(part + "e"))
		}
		if got := said.link(); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	said := &remoteSays{}
	for range 3 {
		if n, err := said.Write(make([]byte, maxSaid)); n != maxSaid || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(said.text) > maxSaid {
		t.Errorf("%d bytes are kept", len(said.text))
	}
}

func TestWhyUnreachable(t *testing.T) {
	const lost = "fatal: Could not read from remote repository.\n\nPlease make sure you have the correct access rights\nand the repository exists.\n"
	for _, tt := range []struct{ said, want string }{
		{"fatal: '/x/missing.git' does not appear to be a git repository\n" + lost, "'/x/missing.git' does not appear to be a git repository"},
		{"Warning: Permanently added 'h' to the list\r\nssh: connect to host h port 22: Connection refused\r\n" + lost, "ssh: connect to host h port 22: Connection refused"},
		{"git@h: Permission denied (publickey).\n" + lost, "git@h: Permission denied (publickey)."},
		{"fatal: unable to access 'http://h/': Could not resolve host: h\n", "unable to access 'http://h/': Could not resolve host: h"},
		{"remote: busy\nfatal: the remote end hung up unexpectedly\nerror: failed to push some refs to 'h'\n", "the remote end hung up unexpectedly"},
		{lost, ""}, {"", ""},
	} {
		if got := (&remoteSays{text: []byte(tt.said)}).why(); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.said, got, tt.want)
		}
	}
}

func TestLinkByForm(t *testing.T) {
	for _, tt := range []struct{ remote, branch, base, want string }{
		{"git@github.com:o/r.git", "middleman/fix", "main", "https://github.com/o/r/compare/main...middleman/fix?expand=1"},
		{"https://u:secret@github.com/o/r", "a#b?c%d", "origin/main", "https://github.com/o/r/compare/main...a%23b%3Fc%25d?expand=1"},
		{"ssh://git@github.com:22/o/r.git/", "fix", "HEAD", "https://github.com/o/r/compare/fix?expand=1"},
		{"git@gitlab.com:g/sub/r.git", "fix", "", "https://gitlab.com/g/sub/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=fix"},
		{"https://gitlab.example.org/g/r", "fix", "main", "https://gitlab.example.org/g/r/-/merge_requests/new?merge_request%5Bsource_branch%5D=fix&merge_request%5Btarget_branch%5D=main"},
		{"git@bitbucket.org:o/r.git", "fix", "", "https://bitbucket.org/o/r/pull-requests/new?source=fix"},
		{"https://codeberg.org/o/r.git", "fix", "main", "https://codeberg.org/o/r/compare/main...fix"},
		{"https://github.com/o/r", "main", "main", ""},
		{"https://example.org/o/r", "fix", "main", ""},
		{"https://github.com/o", "fix", "main", ""},
		{"/srv/github/r.git", "fix", "", ""}, {"file:///srv/r", "fix", "", ""}, {"./github.com:o/r", "fix", "", ""}, {"", "fix", "", ""},
		{"a@b@github.com:o/r", "fix", "", "https://github.com/o/r/compare/fix?expand=1"},
		{"git@github.com\x1b:o/r", "fix", "", ""}, {"git@github.com:o/r\n", "fix", "", ""},
	} {
		if got := linkByForm(tt.remote, tt.branch, tt.base); got != tt.want {
			t.Errorf("%q %q %q: %q, want %q", tt.remote, tt.branch, tt.base, got, tt.want)
		}
	}
}

// FuzzLink: what remotes print and are called steers nobody elsewhere, and no
// terminal.
func FuzzLink(f *testing.F) {
	f.Add("remote: pull request\nremote: https://x.example/1\n", "git@github.com:o/r", "fix", "main")
	f.Fuzz(func(t *testing.T, text, remote, branch, base string) {
		said := &remoteSays{}
		said.Write([]byte(text))
		for _, link := range []string{said.link(), linkByForm(remote, branch, base)} {
			if link != "" && !isLink(link) {
				t.Errorf("%q", link)
			}
		}
		said.last()
	})
}
