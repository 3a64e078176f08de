package ptyowner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/ipc"
	"middleman/internal/private"
	"middleman/ptyowner/state"
	"middleman/terminal"
	"middleman/terminal/host"
)

// prepareEnvironment makes the link to the SSH agent if spec asks for one, and
// records the names of the variables. It returns the environment to start with.
func (b *Backend) prepareEnvironment(d state.Dir, spec terminal.Spec) (terminal.Environ, error) {
	linked := false
	if spec.AgentLink {
		var err error
		if spec.Env, linked, err = b.linkAgent(d, spec.Env); err != nil {
			return nil, err
		}
	}
	own := host.Environ(terminal.Spec{ID: spec.ID, Workspace: spec.Workspace}, "")
	var list []terminal.Variable
	for _, entry := range host.Environ(spec, "") {
		name, _, _ := strings.Cut(entry, "=")
		v := terminal.Variable{Name: name, Source: spec.Sources[name]}
		isOwn := slices.ContainsFunc(own, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
		if isOwn || linked && name == terminal.AgentVariable {
			v.Source = terminal.SourceOwn
		}
		list = append(list, v)
	}
	slices.SortFunc(list, func(a, b terminal.Variable) int { return strings.Compare(a.Name, b.Name) })
	return spec.Env, d.WriteEnvironment(list)
}

// linkAgent replaces the agent's socket in env by a link to it. An agent that
// cannot be linked to stays as it is, and owner.log says why.
func (b *Backend) linkAgent(d state.Dir, env terminal.Environ) (_ terminal.Environ, linked bool, err error) {
	const prefix = terminal.AgentVariable + "="
	i := slices.IndexFunc(env, func(entry string) bool { return strings.HasPrefix(entry, prefix) })
	if i < 0 {
		return env, false, nil
	}
	path, err := b.agentPath(d)
	if err == nil {
		err = b.pointAt(strings.TrimPrefix(env[i], prefix), path)
	}
	if err != nil {
		log, openErr := private.Append(d.File(state.LogFile))
		if openErr != nil {
			return env, false, openErr
		}
		state.Note(log, "%s stays as it was given: %v", terminal.AgentVariable, err)
		return env, false, log.Close()
	}
	env = slices.Clone(env)
	env[i] = prefix + path
	return env, true, nil
}

// agentPath returns the path of the link: in the state directory, or in the
// runtime directory if a socket's path may not be as long as the former.
func (b *Backend) agentPath(d state.Dir) (string, error) {
	if path := d.File(state.AgentFile); len(path) <= ipc.MaxSocketPath {
		return path, nil
	}
	path := filepath.Join(b.o.Runtime, d.ID+"."+state.AgentFile)
	if len(path) > ipc.MaxSocketPath {
		return "", fmt.Errorf("path %s has %d bytes, that of a socket may have %d", path, len(path), ipc.MaxSocketPath)
	}
	return path, private.MakeDir(b.o.Runtime)
}

// unlinkAgent removes the link, which may be outside of the state directory.
func (b *Backend) unlinkAgent(d state.Dir) {
	if link, err := b.agentPath(d); err == nil {
		os.Remove(link) // most sessions have none
	}
}

// pointAt makes link a link to an agent's socket. If socket is such a link of
// another session, it takes that one's target: the other session may be removed.
func (b *Backend) pointAt(socket, link string) error {
	if filepath.Dir(filepath.Dir(socket)) == b.o.Sessions || filepath.Dir(socket) == b.o.Runtime {
		target, err := os.Readlink(socket)
		if err != nil {
			return fmt.Errorf("look at link: %w", err)
		}
		socket = target
	}
	if err := private.CheckSocket(socket); err != nil {
		return err
	}
	return private.ReplaceLink(socket, link)
}

// Environment implements terminal.Session.
func (s *session) Environment(context.Context) ([]terminal.Variable, error) {
	if err := s.checkThere(); err != nil {
		return nil, err
	}
	return s.dir.ReadEnvironment()
}

// LinkAgent implements terminal.Session.
func (s *session) LinkAgent(_ context.Context, socket string) error {
	if err := s.checkThere(); err != nil {
		return err
	}
	link, err := s.b.agentPath(s.dir)
	if err != nil {
		return nil // it was too long at the start, too
	}
	info, err := os.Lstat(link)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil && info.Mode()&fs.ModeSymlink == 0 {
		err = fmt.Errorf("%s is no symbolic link", link)
	}
	if err == nil {
		err = s.b.pointAt(socket, link)
	}
	if err != nil {
		return fmt.Errorf("point the SSH agent of session %s at %s: %w", s.dir.ID, socket, err)
	}
	return nil
}

// checkThere returns an error unless there is a state directory that is ours.
func (s *session) checkThere() error {
	if err := terminal.CheckID(s.dir.ID); err != nil {
		return fmt.Errorf("session %w: %w", terminal.ErrNotFound, err)
	}
	err := s.dir.Check(s.b.o.Data)
	if err == nil {
		return nil
	}
	if _, missing := os.Lstat(s.dir.Path); errors.Is(missing, fs.ErrNotExist) {
		return fmt.Errorf("session %s: %w", s.dir.ID, terminal.ErrNotFound)
	}
	return unreachable(s.dir.ID, "check state directory", err)
}
