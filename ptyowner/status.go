package ptyowner

import (
	"context"
	"time"

	"middleman/internal/proc"
	"middleman/ptyowner/state"
	"middleman/ptyowner/wire"
	"middleman/terminal"
	"middleman/terminal/journal"
)

// Status asks the owner, or reads the state directory after it.
func (s *session) Status(ctx context.Context) (terminal.Status, error) {
	var w wire.Status
	_, l, asked, err := s.ask(ctx, wire.VerbStatus, struct{}{}, &w)
	if err != nil {
		return terminal.Status{}, err
	}
	if !asked {
		return s.statusFromDisk(l)
	}
	return s.statusFromOwner(l, w), nil
}

// statusFromOwner returns what the owner has answered.
func (s *session) statusFromOwner(l look, w wire.Status) terminal.Status {
	status := s.baseStatus(l)
	status.State = terminal.State(w.State)
	status.PID, status.StartedAt = w.PID, w.StartedAt
	status.Size, status.Title, status.Progress = terminal.Size(w.Size), w.Title, w.Progress
	status.Oldest, status.Head = w.Oldest, w.Head
	status.Writer, status.Watchers = (*terminal.Writer)(w.Writer), w.Watchers
	status.Unseen = (*terminal.Unseen)(w.Unseen)
	status.Source, status.Left, status.Journal = "owner", w.Left, w.Journal
	if status.State == terminal.StateRunning && w.PID > 0 {
		status.Foreground = proc.Runs(w.PID)
	}
	if w.Exit != nil {
		e := terminalExit(*w.Exit)
		status.Exit, status.Unseen, status.Progress = &e, nil, ""
	}
	return status
}

// baseStatus returns the part of the status that owner.json tells.
func (s *session) baseStatus(l look) terminal.Status {
	return terminal.Status{
		ID: s.dir.ID, Backend: s.b.Name(), AsOf: time.Now(),
		Workspace: l.record.Workspace, Argv: l.record.Argv, Dir: l.record.Dir,
		StartedAt: l.record.Created, Size: l.record.Size, JournalBytes: l.record.JournalBytes,
		Clipboard: l.record.Clipboard,
	}
}

func (s *session) statusFromDisk(l look) (terminal.Status, error) {
	status := s.baseStatus(l)
	status.Source, status.State = terminal.SourceDisk, terminal.StateLost
	if l.life == state.Starting {
		status.State = terminal.StateStarting
		return status, nil
	}
	r := journal.Open(s.dir.Journal())
	defer r.Close()
	var err error
	if status.Oldest, status.Head, err = r.Bounds(); err != nil {
		return status, unreachable(s.dir.ID, "read journal", err)
	}
	if l.exit == nil {
		status.Lost = s.death(l.record)
	} else {
		status.State, status.Exit = terminal.StateExited, l.exit
		status.Head = max(status.Head, l.exit.Offset)
		status.Size, status.Title = l.exit.Size, l.exit.Title
	}
	if status.Left, err = s.dir.Strays(); err != nil {
		return status, unreachable(s.dir.ID, "look for processes", err)
	}
	return status, nil
}

// Lingers implements terminal.Lingerer.
func (s *session) Lingers() (bool, error) { return s.dir.Lingers() }
