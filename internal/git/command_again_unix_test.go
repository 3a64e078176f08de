//go:build unix

package git_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/git"
	"middleman/internal/testenv"
)

// A git that is asked again gets all of its input again, or is not asked.
func TestInputOfAGitThatIsAskedAgain(t *testing.T) {
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	testenv.WriteProgram(t, filepath.Join(dir, "git"), fmt.Sprintf("#!/bin/sh\nif ! test -e %[1]s/met; then\n"+
		"cat >%[1]s/met; echo 'fatal: bad object refs/heads/gone' >&2; exit 128\nfi\nexec %[2]s \"$@\"\n", dir, real))
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	c := git.Command{Dir: dir, Args: []string{"hash-object", "--stdin"}, Stdin: strings.NewReader("abc\n")}
	if out, err := c.Run(context.Background()); err != nil || strings.TrimSpace(out) != "8baef1b4abc478178b004d62031cf7fe6db6f903" {
		t.Errorf("%q, %v", out, err)
	}
	testenv.WriteProgram(t, filepath.Join(dir, "git"), "#!/bin/sh\ncat >/dev/null; echo 'fatal: bad object refs/heads/gone' >&2; exit 128\n")
	c.Stdin = onlyReader{strings.NewReader("abc\n")}
	if out, err := c.Run(context.Background()); err == nil || !strings.Contains(err.Error(), "bad object") {
		t.Errorf("%q, %v", out, err)
	}
}

// onlyReader cannot be read from its beginning again.
type onlyReader struct{ from *strings.Reader }

func (r onlyReader) Read(p []byte) (int, error) { return r.from.Read(p) }
