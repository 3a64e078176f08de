package escapes

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"middleman/internal/private"
	"middleman/internal/sandbox"
)

// Command is the helper command that makes the attempts.
const Command = "sandbox-try"

// wait is the argument with which the helper is the process outside that attempts
// aim at: it does nothing until its standard input ends.
const wait = "wait"

// who says for whom an attempt succeeds without a sandbox.
type who int

const (
	everyone who = iota
	root
	nobody // it depends on the system
)

// attempt is one way out.
type attempt struct {
	area, name string
	// try returns nil if it succeeded.
	try     func(s *stage) error
	gap     gap
	outside who
}

// errAbsent is the error of an attempt for which the system has nothing to aim at.
var errAbsent = errors.New("this system has none")

// all lists all attempts.
func all() []attempt {
	return slices.Concat(files(), rights(), hidden(), plants(), processes(), kernel(), channels())
}

// Try makes all attempts in a sandbox, and returns what became of each. It makes
// what they aim at in dir, an empty directory of this user alone without a link in
// its path. The caller removes it. hidden are further paths that the sandbox hides,
// as a policy has them.
func Try(ctx context.Context, dir string, level sandbox.Level, method sandbox.Method, hidden ...string) (results []Result, err error) {
	s, clean, err := build(ctx, dir)
	if err != nil {
		return nil, fmt.Errorf("prepare what to attack: %w", err)
	}
	defer clean()
	s.Credentials = hidden
	p := s.policy(level, method)
	raw, err := json.Marshal(p)
	if err == nil {
		err = private.Replace(s.Policy, raw, private.ThisBoot)
	}
	if err != nil {
		return nil, fmt.Errorf("write a policy to attack: %w", err)
	}
	found, err := s.run(ctx, sandbox.Command, "--policy", s.Policy, "--digest", p.Digest(), "--", s.Executable)
	if err != nil {
		return nil, err
	}
	abi := sandbox.Probe().ABI
	for _, a := range all() {
		r, ok := found[a.name]
		if !ok {
			return nil, fmt.Errorf("the attempt %q did not end", a.name)
		}
		r.Name, r.Area, r.Listed = a.name, a.area, a.gap.open(method, level, abi)
		results = append(results, r)
	}
	return results, nil
}

// policy returns the policy that is attacked.
func (s *stage) policy(level sandbox.Level, method sandbox.Method) sandbox.Policy {
	p := sandbox.Policy{
		Schema: 1, Level: level, Method: method, Session: "attack", Workspace: "attack", Dir: s.Workspace, Temp: s.Temp,
		Writable: []string{s.Workspace},
		Hidden:   append([]string{s.Secret, s.SecretFile, s.State}, s.Credentials...),
		Show:     []string{s.Base, s.Executable},
		Network:  sandbox.Network{Off: level == sandbox.Strict},
	}
	if method == sandbox.Bubblewrap {
		p.ReadOnly = []string{filepath.Join(s.Workspace, ".git")}
	}
	return p
}

// run runs the attempts by a command of this executable, and returns them by name.
func (s *stage) run(ctx context.Context, args ...string) (map[string]Result, error) {
	file := filepath.Join(s.Workspace, "stage.json")
	raw, err := json.Marshal(s)
	if err == nil {
		err = os.WriteFile(file, raw, 0o600)
	}
	if err != nil {
		return nil, fmt.Errorf("tell the attempts what to aim at: %w", err)
	}
	inherited, err := os.OpenFile(s.file("use a descriptor that was left open"), os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer inherited.Close()
	stdin, err := os.Open(s.file("open standard input again for writing"))
	if err != nil {
		return nil, err
	}
	defer stdin.Close()
	cmd := exec.CommandContext(ctx, s.Executable, append(args, Command, file)...)
	cmd.Dir = s.Workspace
	cmd.Stdin, cmd.ExtraFiles = stdin, []*os.File{inherited}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("run the attempts: %w: %s", err, bytes.TrimSpace(stderr.Bytes()))
	}
	found := make(map[string]Result)
	for d := json.NewDecoder(&stdout); ; {
		var r Result
		if err := d.Decode(&r); errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, fmt.Errorf("read what became of the attempts: %w", err)
		}
		found[r.Name] = r
	}
}

// Main is the helper command.
func Main(args []string) (exit int) {
	if len(args) == 1 && args[0] == wait {
		_, _ = io.Copy(io.Discard, os.Stdin)
		return 0
	}
	err := errors.New("use " + Command + " FILE")
	if len(args) == 1 {
		err = attack(args[0])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "middleman %s: %v\n", Command, err)
		return 1
	}
	return 0
}

// attack makes all attempts and prints what becomes of each.
func attack(file string) error {
	raw, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var s stage
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, a := range all() {
		r := Result{Name: a.name, Detail: "it worked"}
		s.name = a.name
		if err := a.try(&s); err != nil {
			r.Blocked, r.Absent, r.Detail = true, errors.Is(err, errAbsent), err.Error()
		}
		if err := out.Encode(r); err != nil {
			return err
		}
	}
	return nil
}
