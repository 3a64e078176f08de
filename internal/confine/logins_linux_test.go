package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"middleman/internal/agent"
	"middleman/internal/sandbox"
)

const (
	loginName = "auth.json"
	firstOne  = `{"tokens": {"access": "one", "scopes": ["a b"], "expires": 1}, "key": null}`
	secondOne = `{"tokens": {"access": "two", "scopes": ["a b"], "expires": 2}, "key": null}`
	renewed   = "{\n  \"key\": null,\n  \"tokens\": {\n    \"access\": \"two\",\n    \"expires\": 2,\n    \"scopes\": [\n      \"a b\"\n    ]\n  }\n}\n"
)

// loginPlace is a session with a login, and the files of it outside and inside.
func loginPlace(t *testing.T, settings ...string) (p place, outside, inside string) {
	t.Helper()
	p = newPlace(t, sandbox.Bubblewrap)
	p.maker.Settings.Logins = settings
	outside = filepath.Join(p.maker.Home, ".agent", loginName)
	write(t, outside, firstOne, time.Now().Add(-time.Hour))
	p.session.Profile = agent.Profile{Name: "mine", Source: agent.User, Definition: agent.Definition{
		Directories: []string{"AGENT_HOME=~/.agent"}, Logins: []string{"~/.agent/" + loginName},
	}}
	_, env := p.make(t)
	return p, outside, filepath.Join(env.Lookup("AGENT_HOME"), loginName)
}

func (p place) renew(t *testing.T) (files []string, err error) {
	t.Helper()
	return p.maker.RenewLogins(t.Context(), p.session.Workspace)
}

// A login that is renewed inside replaces the user's, again and again, also if that is
// noticed at the next start.
func TestLoginIsRenewed(t *testing.T) {
	p, outside, inside := loginPlace(t, "mine")
	if files, err := p.renew(t); files != nil || err != nil {
		t.Errorf("nothing is new: %q, %v", files, err)
	}
	if err := os.Chmod(outside, 0o640); err != nil {
		t.Fatal(err)
	}
	write(t, inside, secondOne, time.Now())
	if files, err := p.renew(t); !slices.Equal(files, []string{outside}) || err != nil {
		t.Errorf("%q, %v", files, err)
	}
	if files, err := p.renew(t); files != nil || err != nil {
		t.Errorf("again: %q, %v", files, err)
	}
	info, err := os.Stat(outside)
	if text, _ := os.ReadFile(outside); string(text) != renewed || err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v: %s", err, info.Mode(), text)
	}
	write(t, inside, strings.ReplaceAll(secondOne, "two", "three"), time.Now())
	p.make(t)
	for _, path := range []string{outside, inside} {
		if text, _ := os.ReadFile(path); !strings.Contains(string(text), "three") {
			t.Errorf("%s: %s", path, text)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(outside), tempPattern+"*"))
	if err != nil || left != nil {
		t.Errorf("left: %q, %v", left, err)
	}
}

// Without consent, and where the user's file is another than the one that was copied in,
// nothing comes out.
func TestLoginStaysInside(t *testing.T) {
	for name, c := range map[string]struct {
		settings []string
		before   func(p place, outside, inside string) error
		told     string
	}{
		"no consent":          {nil, nil, ""},
		"consent for another": {[]string{"codex"}, nil, ""},
		"changed outside":     {[]string{"mine"}, func(_ place, outside, _ string) error { return os.WriteFile(outside, []byte(secondOne), 0o600) }, "has changed"},
		"removed outside":     {[]string{"mine"}, func(_ place, outside, _ string) error { return os.Remove(outside) }, "no such file"},
		"a link outside": {[]string{"mine"}, func(p place, outside, _ string) error {
			return errors.Join(os.Rename(outside, outside+"2"), os.Symlink(outside+"2", outside))
		}, "refused"},
		"several names outside": {[]string{"mine"}, func(_ place, outside, _ string) error { return os.Link(outside, outside+"2") }, "several names"},
		"a directory for a file": {[]string{"mine"}, func(_ place, outside, _ string) error {
			return errors.Join(os.Remove(outside), os.Mkdir(outside, 0o700))
		}, "refused"},
	} {
		t.Run(name, func(t *testing.T) {
			p, outside, inside := loginPlace(t, c.settings...)
			if c.before != nil {
				if err := c.before(p, outside, inside); err != nil {
					t.Fatal(err)
				}
			}
			was, _ := os.ReadFile(outside)
			write(t, inside, strings.ReplaceAll(secondOne, "two", "evil"), time.Now())
			files, err := p.renew(t)
			if files != nil || (err != nil) != (c.told != "") || err != nil && !strings.Contains(err.Error(), c.told) {
				t.Errorf("%q, %v", files, err)
			}
			if _, err := p.renew(t); err != nil {
				t.Errorf("told twice: %v", err)
			}
			if now, _ := os.ReadFile(outside); string(now) != string(was) {
				t.Errorf("the user's file has %s", now)
			}
		})
	}
	p, outside, inside := loginPlace(t, "mine")
	for _, source := range []string{agent.Repository, agent.Bundle} {
		p.session.Profile.Source, p.session.Workspace = source, source
		workspaceIn("workspaces/" + source)(&p)
		if err := os.MkdirAll(p.session.Root, 0o700); err != nil {
			t.Fatal(err)
		}
		p.make(t)
		write(t, strings.Replace(inside, "/w/", "/"+source+"/", 1), secondOne, time.Now())
		if files, err := p.renew(t); files != nil || err != nil {
			t.Errorf("%s: %q, %v", source, files, err)
		}
	}
	if text, _ := os.ReadFile(outside); string(text) != firstOne {
		t.Error(string(text))
	}
}

// What a program may put in the place of the file is not followed, waited for or taken.
func TestHostileLogins(t *testing.T) {
	p, outside, inside := loginPlace(t, "mine")
	secret := filepath.Join(p.maker.Home, ".ssh", "key.json")
	write(t, secret, secondOne, time.Now())
	for name, plant := range map[string]func() error{
		"a link":          func() error { return os.Symlink(secret, inside) },
		"a dangling link": func() error { return os.Symlink(outside+"3", inside) },
		"a hard link":     func() error { return os.Link(secret, inside) },
		"a directory":     func() error { return os.Mkdir(inside, 0o700) },
		"a FIFO":          func() error { return syscall.Mkfifo(inside, 0o600) },
		"nothing":         func() error { return nil },
		"half of it":      func() error { return os.WriteFile(inside, []byte(secondOne[:30]), 0o600) },
		"too much":        func() error { return os.WriteFile(inside, []byte(`{"a":"`+strings.Repeat("x", maxLogin)+`"}`), 0o600) },
		"an endless file": func() error { return errors.Join(os.WriteFile(inside, nil, 0o600), os.Truncate(inside, 1<<40)) },
		"another key": func() error {
			return os.WriteFile(inside, []byte(`{"tokens": {"access": "two", "scopes": ["a b"], "expires": 2}, "key": null, "hooks": "x"}`), 0o600)
		},
		"a key less": func() error {
			return os.WriteFile(inside, []byte(`{"tokens": {"access": "two", "scopes": ["a b"], "expires": 2}}`), 0o600)
		},
		"another scope": func() error { return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, "a b", "all")), 0o600) },
		"another type": func() error {
			return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, `"two"`, `{"command": "x"}`)), 0o600)
		},
		"an address": func() error {
			return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, "two", "https://evil.example")), 0o600)
		},
		"a path": func() error {
			return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, "two", "/tmp/evil")), 0o600)
		},
		"a command": func() error {
			return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, "two", "$(evil)")), 0o600)
		},
		"a value for null": func() error {
			return os.WriteFile(inside, []byte(strings.ReplaceAll(secondOne, "null", `"key"`)), 0o600)
		},
		"a key twice": func() error {
			return os.WriteFile(inside, []byte(strings.Replace(secondOne, `"key"`, `"hooks": 1, "key"`, 1)), 0o600)
		},
		"more behind it": func() error { return os.WriteFile(inside, []byte(secondOne+secondOne), 0o600) },
		"no object":      func() error { return os.WriteFile(inside, []byte(`["x"]`), 0o600) },
		"null":           func() error { return os.WriteFile(inside, []byte(`null`), 0o600) },
	} {
		if err := errors.Join(os.RemoveAll(inside), plant()); err != nil {
			t.Fatal(err)
		}
		if files, _ := p.renew(t); files != nil {
			t.Errorf("%s: %q", name, files)
		}
		if text, err := os.ReadFile(outside); string(text) != firstOne || err != nil {
			t.Fatalf("%s: the user's file has %s, %v", name, text, err)
		}
	}
	if err := errors.Join(os.RemoveAll(inside), os.WriteFile(inside, []byte(secondOne), 0o600)); err != nil {
		t.Fatal(err)
	}
	if files, err := p.renew(t); len(files) != 1 || err != nil {
		t.Errorf("afterwards: %q, %v", files, err)
	}
}

// The user's program replaces its login again and again while one comes out of a sandbox: no
// login of the user's is lost.
func TestLoginsAtOnce(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, loginName)
	replace := func(text string) {
		if err := errors.Join(os.WriteFile(name+".new", []byte(text), 0o600), os.Rename(name+".new", name)); err != nil {
			t.Error(err)
		}
	}
	const rounds = 300
	for n := range rounds {
		mine, theirs := fmt.Sprintf("user %d", n), fmt.Sprintf("sandbox %d", n)
		replace(firstOne)
		var wg sync.WaitGroup
		wg.Go(func() { replace(mine) })
		err := replaceLogin(dir, loginName, []byte(firstOne), []byte(theirs))
		wg.Wait()
		text, readErr := os.ReadFile(name)
		if string(text) != mine && (string(text) != theirs || err != nil) || readErr != nil {
			t.Fatalf("%v, %v: %s", err, readErr, text)
		}
		if string(text) == theirs {
			t.Fatalf("round %d: the user's login is lost: %v", n, err)
		}
	}
}

func FuzzRenewal(f *testing.F) {
	f.Add([]byte(firstOne), []byte(secondOne))
	f.Add([]byte(`{"a":"1//x"}`), []byte(`{"a":"2//y"}`))
	f.Fuzz(func(t *testing.T, outside, inside []byte) {
		once, err := renewal(outside, inside)
		if err != nil {
			return
		}
		again, err := renewal(outside, once)
		if err != nil || string(again) != string(once) {
			t.Errorf("%v: %s and %s", err, once, again)
		}
		if _, err := renewal(once, outside); err != nil {
			t.Errorf("%s is like %s, and not the reverse: %v", once, outside, err)
		}
	})
}
