package grants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"middleman/internal/bundle"
	"middleman/internal/private"
)

const (
	nameHole   = "{name}"
	maxSecret  = 64 << 10         // bytes
	secretTime = 30 * time.Second // of the command
)

// noSecret is the error of a host that has nothing for a secret.
type noSecret struct{ of *bundle.Error }

func (e noSecret) Error() string { return e.of.Error() }
func (e noSecret) Unwrap() error { return e.of }

// Resolver reads secrets.
type Resolver struct {
	// Dir holds a file for each secret, which only this user can read.
	Dir     string
	Command []string // as Secrets.Command
	// Environ is the environment of the command.
	Environ []string
}

// secret returns the value of a secret: the content of its file without the line break
// at its end, or what the command prints. The error has neither a part of the value nor
// a path; its kind is ErrSecret.
func (r Resolver) secret(ctx context.Context, name string) (string, error) {
	value, err := r.file(name)
	missing := errors.Is(err, fs.ErrNotExist)
	if missing && len(r.Command) > 0 {
		missing = false
		value, err = r.run(ctx, name)
	}
	_, refused := errors.AsType[*exec.ExitError](err)
	text := strings.TrimSuffix(strings.TrimSuffix(string(value), "\n"), "\r")
	switch {
	case missing:
		return "", noSecret{bundle.Errorf(bundle.ErrSecret, "secret-ref:%s: this host has no file secrets/%s beside config.toml, and no secrets.command in policy.toml", name, name)}
	case refused: // so do programs that have none of that name
		return "", noSecret{bundle.Errorf(bundle.ErrSecret, "secret-ref:%s: %v", name, err)}
	case err != nil:
		return "", bundle.Errorf(bundle.ErrSecret, "secret-ref:%s: %v", name, err)
	case text == "" || len(text) > maxSecret || strings.ContainsRune(text, 0):
		return "", bundle.Errorf(bundle.ErrSecret, "secret-ref:%s: what this host has for it is empty, larger than %d bytes, or has a NUL in it", name, maxSecret)
	}
	return text, nil
}

func (r Resolver) file(name string) ([]byte, error) {
	f, err := private.Open(filepath.Join(r.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fs.ErrNotExist
	}
	if err != nil {
		return nil, fmt.Errorf("the file secrets/%s cannot be used: it must be a file of this user's that nobody else can write", name)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil && othersRead(info.Mode()) {
		return nil, fmt.Errorf("the file secrets/%s can be read by others: give it the mode 0600", name)
	}
	if err != nil {
		return nil, fmt.Errorf("the file secrets/%s cannot be read", name)
	}
	return io.ReadAll(io.LimitReader(f, maxSecret+3))
}

// bounded keeps no more than maxSecret and some bytes. What prints more is stopped.
type bounded struct {
	// kept is not embedded: its ReadFrom would go around Write.
	kept bytes.Buffer
	stop func()
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.kept.Len()+len(p) > maxSecret+2 {
		b.stop()
		return 0, errors.New("it prints too much")
	}
	return b.kept.Write(p)
}

func (r Resolver) run(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, secretTime)
	defer cancel()
	args := make([]string, len(r.Command)-1)
	for i, arg := range r.Command[1:] {
		args[i] = strings.ReplaceAll(arg, nameHole, name)
	}
	limited, stop := context.WithCancel(ctx)
	defer stop()
	out := bounded{stop: stop}
	cmd := exec.CommandContext(limited, r.Command[0], args...)
	cmd.Env, cmd.Stdout, cmd.Dir, cmd.WaitDelay = r.Environ, &out, "/", time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return nil, fmt.Errorf("secrets.command of policy.toml did not end in %s", secretTime)
	case err != nil:
		return nil, fmt.Errorf("secrets.command of policy.toml failed: %w", err)
	}
	return out.kept.Bytes(), nil
}
