package notice

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"middleman/internal/api"
	"middleman/internal/environ"
)

const (
	commandTime = 10 * time.Second
	// maxCommands is how many run at once. Further notices are not given to one.
	maxCommands = 4
	// maxOutput is how many bytes of its output are kept for an error.
	maxOutput = 1 << 10
)

// Command is a command of the user's that gets each notice: as one JSON object
// on its standard input.
type Command struct {
	// Argv is the program, by its name or absolute path, and its arguments.
	Argv []string
	// Environ returns the whole environment. A name in Argv is looked up in its
	// PATH, and the command runs in its HOME.
	Environ func(ctx context.Context) ([]string, error)
	// Limit is how long it may run; 0 means ten seconds. Then it is killed, with
	// its process group.
	Limit time.Duration

	runs sync.WaitGroup
	// mu guards the fields below.
	mu      sync.Mutex
	running int
	state   api.NoticeCommand
}

// State says what became of the command so far; nil for none.
func (c *Command) State() *api.NoticeCommand {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	state := c.state
	state.Argv = c.Argv
	return &state
}

// start gives a notice to the command, without waiting for it.
func (c *Command) start(ctx context.Context, n api.Notice, log *slog.Logger) {
	if c == nil {
		return
	}
	c.mu.Lock()
	full := c.running >= maxCommands
	if !full {
		c.running++
	}
	c.mu.Unlock()
	if full {
		c.note(log, fmt.Errorf("%d of it run already", maxCommands))
		return
	}
	c.runs.Go(func() {
		err := c.run(ctx, n)
		c.mu.Lock()
		c.running--
		c.mu.Unlock()
		if ctx.Err() == nil {
			c.note(log, err)
		}
	})
}

// note records how a run ended.
func (c *Command) note(log *slog.Logger, err error) {
	c.mu.Lock()
	c.state.Runs++
	if err != nil {
		c.state.Failed++
		c.state.Error, c.state.FailedAt = err.Error(), time.Now().UTC()
	}
	c.mu.Unlock()
	if err != nil {
		log.Warn("the command for notices failed", "command", c.Argv[0], "error", err)
	}
}

// wait blocks until no command runs.
func (c *Command) wait() {
	if c != nil {
		c.runs.Wait()
	}
}

// run runs the command once. It leaves none of its process group.
func (c *Command) run(ctx context.Context, n api.Notice) error {
	env, err := c.Environ(ctx)
	if err != nil {
		return err
	}
	path, err := find(c.Argv[0], env)
	if err != nil {
		return err
	}
	input, err := json.Marshal(n)
	if err != nil {
		return err
	}
	limit := cmp.Or(c.Limit, commandTime)
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("it was ended after %s", limit))
	defer cancel()
	cmd := exec.CommandContext(ctx, path, c.Argv[1:]...)
	said := &head{}
	cmd.Args[0], cmd.Env, cmd.Dir = c.Argv[0], env, environ.Lookup(env, "HOME")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(append(input, '\n')), said, said
	cmd.WaitDelay = time.Second // a process of another group may keep its output open
	inGroup(cmd)
	if err = cmd.Start(); err != nil {
		return err
	}
	err = cmd.Wait()
	killGroup(cmd)
	switch text := strings.TrimSpace(string(said.data)); {
	case errors.Is(err, exec.ErrWaitDelay):
		return nil // it has exited with 0
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err != nil && text != "":
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// find returns the path of a program: of a name in the PATH of env.
func find(name string, env []string) (string, error) {
	if filepath.IsAbs(name) {
		_, err := exec.LookPath(name)
		return name, err
	}
	if path, ok := environ.Find(name, env); ok {
		return path, nil
	}
	return "", fmt.Errorf("%s was not found in PATH", name)
}

// head keeps the first maxOutput bytes that are written, and drops the rest.
type head struct{ data []byte }

func (h *head) Write(p []byte) (int, error) {
	h.data = append(h.data, p[:min(len(p), maxOutput-len(h.data))]...)
	return len(p), nil
}
