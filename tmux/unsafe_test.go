//go:build unix

package tmux_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/private"
	"middleman/terminal"
)

// A state directory that another user could have written is not believed. Mended
// it is, and nothing was typed meanwhile.
func TestUnsafeStateIsNotBelieved(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, `echo READY; read x; echo "got $x."; exit 3`)
	s.printed(t, "READY")
	record := filepath.Join(s.dir, "owner.json")
	mode := func(path string, bad, good os.FileMode) (spoil, mend func() error) {
		return func() error { return os.Chmod(path, bad) }, func() error { return os.Chmod(path, good) }
	}
	for _, tt := range []struct {
		name  string
		spoil func() (spoil, mend func() error)
	}{
		{"mode 0777", func() (_, _ func() error) { return mode(s.dir, 0o777, 0o700) }},
		{"mode 0720", func() (_, _ func() error) { return mode(s.dir, 0o720, 0o700) }},
		{"mode 0702", func() (_, _ func() error) { return mode(s.dir, 0o702, 0o700) }},
		{"record", func() (_, _ func() error) { return mode(record, 0o666, 0o600) }},
		{"link", func() (_, _ func() error) {
			return func() error { return errors.Join(os.Rename(s.dir, s.dir+".x"), os.Symlink(s.dir+".x", s.dir)) },
				func() error { return errors.Join(os.Remove(s.dir), os.Rename(s.dir+".x", s.dir)) }
		}},
		{"another's", func() (_, _ func() error) {
			return func() error { return os.Chown(s.dir, 61234, -1) }, func() error { return os.Chown(s.dir, 0, -1) }
		}},
	} {
		if tt.name == "another's" && os.Geteuid() != 0 {
			continue // only root may give a directory away
		}
		spoil, mend := tt.spoil()
		if err := spoil(); err != nil {
			t.Fatal(err)
		}
		all := s.everything
		if tt.name == "record" {
			all = s.all // a stop needs no record
		}
		for what, err := range all(t) {
			if _, ok := errors.AsType[*private.UnsafeError](err); !ok {
				t.Errorf("%s, %s: %v", tt.name, what, err)
			}
		}
		if err := mend(); err != nil {
			t.Fatal(err)
		}
	}
	s.types(t, "mended\n")
	if e := s.exit(t); e.Code != 3 || !strings.HasSuffix(s.output(t), "got mended.\r\n") {
		t.Errorf("exit %+v after %q", e, s.output(t))
	}
}

// all is what can be done with a session but a stop.
func (s *session) all(t *testing.T) map[string]error {
	ctx := testContext(t)
	_, statusErr := s.Status(ctx)
	_, captureErr := s.Capture(ctx, terminal.CaptureOptions{})
	_, attachErr := s.Attach(ctx, terminal.AttachOptions{Mode: terminal.ModeAttach})
	return map[string]error{"status": statusErr, "capture": captureErr, "attach": attachErr, "input": s.Input(ctx, []byte("x"))}
}

// everything is all, and a stop.
func (s *session) everything(t *testing.T) map[string]error {
	errs := s.all(t)
	errs["stop"] = s.Stop(testContext(t), 0)
	return errs
}

// A place where others could put a socket, or the server's configuration, is
// refused: nothing is run.
func TestUnsafeRuntimeDirectoryIsRefused(t *testing.T) {
	for name, spoil := range map[string]func(dir string) error{
		"mode 0777": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o777)) },
		"mode 0720": func(dir string) error { return errors.Join(os.Mkdir(dir, 0o700), os.Chmod(dir, 0o720)) },
		"a file":    func(dir string) error { return os.WriteFile(dir, nil, 0o600) },
		"a link":    func(dir string) error { return errors.Join(os.Mkdir(dir+".x", 0o700), os.Symlink(dir+".x", dir)) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlace(t)
			if err := spoil(p.o.Runtime); err != nil {
				t.Fatal(err)
			}
			failed := p.failsToStart(t, specOf("/bin/sh", "-c", "read x"))
			if !strings.Contains(failed.Error(), p.o.Runtime) || !failed.Host {
				t.Errorf("start: %v, want the host's about %s", failed, p.o.Runtime)
			}
			if made, err := os.ReadDir(p.o.Runtime); err == nil && len(made) != 0 {
				t.Errorf("there is %v", made)
			}
		})
	}
}

// What is no id leads nowhere.
func TestIDIsNoPath(t *testing.T) {
	p := newPlace(t)
	s := p.start(t, "read x")
	outside := filepath.Join(p.data, "outside")
	if err := os.Rename(s.dir, outside); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"../outside", "", ".", "..", "/" + outside, fmt.Sprint(s.id, "/")} {
		for what, err := range (&session{Session: p.Session(id)}).all(t) {
			if !errors.Is(err, terminal.ErrNotFound) {
				t.Errorf("%q, %s: %v", id, what, err)
			}
		}
	}
	if err := os.Rename(outside, s.dir); err != nil {
		t.Fatal(err)
	}
}
