//go:build unix

package environ

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"middleman/internal/testenv"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// shellUser returns a user whose home has a .profile with that text, and whose
// shell is dash or whatever /bin/sh is.
func shellUser(t *testing.T, profile string) user {
	t.Helper()
	home := t.TempDir()
	if err := os.WriteFile(filepath.Join(home, ".profile"), []byte(profile), 0o600); err != nil {
		t.Fatal(err)
	}
	return user{Name: "somebody", Home: home, Shell: "/bin/sh"}
}

func TestReadLogin(t *testing.T) {
	t.Setenv("SECRET_OF_THE_SERVER", "leaked")
	u := shellUser(t, "echo 'Welcome!'\nexport TOOL_HOME=/opt/tool\nPATH=$HOME/bin:$PATH\nexport PATH LINES_OF='a\nb'\nread x || echo no input\n")
	got, err := readLogin(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TOOL_HOME=/opt/tool", "LINES_OF=a\nb", "HOME=" + u.Home, "USER=somebody", "LOGNAME=somebody", "SHELL=/bin/sh"} {
		if !slices.Contains(got, want) {
			t.Errorf("%q is missing in %q", want, got)
		}
	}
	if path := Lookup(got, "PATH"); !strings.HasPrefix(path, u.Home+"/bin:/") {
		t.Errorf("PATH is %q", path)
	}
	if Lookup(got, "SECRET_OF_THE_SERVER") != "" {
		t.Error("the environment of this process has leaked")
	}
}

func TestReadLoginFails(t *testing.T) {
	for _, tt := range []struct{ name, profile, want string }{
		{"ends early", "exit 3", "exit status 3"},
		{"replaces itself", "exec true", "did not run the command"},
		{"prints too much", "head -c 2000000 /dev/zero", "did not run the command"},
	} {
		_, err := readLogin(t.Context(), shellUser(t, tt.profile))
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "/bin/sh") {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
	// One that hangs is killed.
	u := shellUser(t, "echo $$ > ~/pid; exec sleep 1000")
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := readLogin(ctx, u)
		ended <- err
	}()
	pid := 0
	testenv.Eventually(t, time.Minute, "the profile runs", func() bool {
		raw, _ := os.ReadFile(filepath.Join(u.Home, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(raw)))
		return strings.HasSuffix(string(raw), "\n")
	})
	cancel(errors.New("enough"))
	if err := testenv.Receive(t, time.Minute, "end of the login shell", ended); err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("one that hangs: %v", err)
	}
	if err := syscall.Kill(-pid, 0); !errors.Is(err, syscall.ESRCH) {
		t.Errorf("process group %d is left: %v", pid, err)
	}
}

// What was learned is kept until a startup file changes, a failure for a minute.
func TestLoginIsKept(t *testing.T) {
	asked, files, now := 0, "one", time.Now()
	var fail error
	l := &Login{
		user:  func() user { return user{Name: "n", Home: "/h", Shell: "/bin/sh"} },
		files: func(user) string { return files },
		now:   func() time.Time { return now },
		read: func(context.Context, user) ([]string, error) {
			asked++
			return []string{"ASKED=" + strconv.Itoa(asked), "TERM=dumb", "SHLVL=1", "PATH=/mine"}, fail
		},
	}
	want := func(step string, wantAsked int, wantWhy error, wantEntry string) {
		t.Helper()
		got, why := l.Get(t.Context())
		if asked != wantAsked || !errors.Is(why, wantWhy) || !slices.Contains(got, wantEntry) || Lookup(got, "TERM") != "" || Lookup(got, "HOME") != "/h" {
			t.Errorf("%s: asked %d times, %v: %q", step, asked, why, got)
		}
	}
	fail = errors.New("it fails")
	want("first", 1, fail, "PATH="+defaultPath)
	want("soon after", 1, fail, "PATH="+defaultPath)
	now, fail = now.Add(2*loginRetry), nil
	want("after a minute", 2, nil, "PATH=/mine")
	now = now.Add(2 * loginRetry)
	want("a good one", 2, nil, "ASKED=2")
	files = "two"
	want("a file has changed", 3, nil, "ASKED=3")
	fail, files = errors.New("it fails now"), "three"
	want("a file is bad", 4, fail, "ASKED=3")
	now, fail = now.Add(2*loginAge), nil
	want("old", 5, nil, "ASKED=5")
}

// A login shell whose caller has left has proved nothing.
func TestLoginCancelled(t *testing.T) {
	l := &Login{
		user: func() user { return user{Name: "n", Home: "/h", Shell: "/bin/sh"} }, files: func(user) string { return "" }, now: time.Now,
		read: func(ctx context.Context, _ user) ([]string, error) { return []string{"A=b"}, context.Cause(ctx) },
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if got, why := l.Get(gone); why != nil || Lookup(got, "A") != "" {
		t.Errorf("%q, %v", got, why)
	}
	if got, why := l.Get(t.Context()); why != nil || Lookup(got, "A") != "b" {
		t.Errorf("afterwards: %q, %v", got, why)
	}
}

func TestParsePasswd(t *testing.T) {
	const text = "root:x:0:0:root:/root:/bin/bash\nodd line\nme:x:1000:1000:Me,,:/home/me:/usr/bin/zsh\nnone:x:7:7::/:\n"
	for _, tt := range []struct {
		uid   string
		want  user
		found bool
	}{
		{"1000", user{Name: "me", Home: "/home/me", Shell: "/usr/bin/zsh"}, true},
		{"7", user{Name: "none", Home: "/"}, true},
		{"8", user{}, false},
	} {
		got, found := parsePasswd([]byte(text), tt.uid)
		if found != tt.found || got.Name != tt.want.Name || got.Home != tt.want.Home || got.Shell != tt.want.Shell {
			t.Errorf("%s: %+v, %v", tt.uid, got, found)
		}
	}
}

func TestFindUser(t *testing.T) {
	u := findUser([]string{"HOME=/elsewhere", "SHELL=/no/such/shell"})
	if u.Name == "" || u.Home != "/elsewhere" || !IsProgram(u.Shell) {
		t.Errorf("%+v", u)
	}
}

func TestParseSettings(t *testing.T) {
	got := parseSettings([]byte("# comment\nLANG=\"de_DE.UTF-8\"\n export A='b c'\nB=\nodd\n1X=y\n=z\nPATH=/a:/b\n"))
	if want := []string{"LANG=de_DE.UTF-8", "A=b c", "B=", "PATH=/a:/b"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// FuzzLogin: whatever a login shell and the system's files say, what is taken of
// it can be an environment.
func FuzzLogin(f *testing.F) {
	f.Add([]byte("noise MARK A=b\x00C=d\ne\x00MARK"))
	f.Add([]byte("root:x:0:0::/root:/bin/sh\nLANG=\"C\"\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if entries, ok := between(data, "MARK"); ok {
			if err := Check(Strip(entries)); err != nil && len(data) < MaxBytes && len(entries) < MaxVariables {
				t.Fatalf("%q: %v", entries, err)
			}
		}
		if u, found := parsePasswd(data, "0"); found {
			if err := Check(u.minimum()); err != nil && len(data) < MaxBytes {
				t.Fatalf("%+v: %v", u, err)
			}
		}
		if all := parseSettings(data); len(data) < MaxBytes && len(all) < MaxVariables {
			if err := Check(all); err != nil {
				t.Fatal(err)
			}
		}
	})
}
