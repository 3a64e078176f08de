package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
	"time"

	"middleman/internal/store"
	"middleman/workspace"
)

// needsPorts reports whether w can have ports and has another number than count.
func needsPorts(w workspace.Workspace, count int) bool {
	return w.Mode != workspace.ModeInPlace && w.Ports != count
}

// givePorts gives w count ports, and records that as a stage. A count of 0 takes
// its ports away. If the range has no free ports, w gets none; the stage says
// so, and that is no error.
func (s *App) givePorts(ctx context.Context, w workspace.Workspace, count int) (workspace.Workspace, error) {
	stage := workspace.Stage{Name: "ports", State: "running", Time: time.Now().UTC()}
	s.stage(ctx, w.ID, stage)
	w, err := s.allocatePorts(ctx, w, count)
	switch {
	case errors.Is(err, store.ErrNoPorts):
		stage.State, stage.Detail, err = "done", workspace.Skipped+err.Error()+": delete a workspace, or widen [ports] of config.toml", nil
	case err != nil:
		stage.State, stage.Detail = "failed", err.Error()
	case w.Ports == 0:
		stage.State, stage.Detail = "done", "none"
	default:
		stage.State, stage.Detail = "done", fmt.Sprintf("%d-%d", w.Port, w.Port+w.Ports-1)
	}
	stage.Time = time.Now().UTC()
	s.stage(ctx, w.ID, stage)
	return w, err
}

// restorePorts gives a restored workspace the ports that it had before, or
// others if these are taken; then notes say so.
func (s *App) restorePorts(ctx context.Context, w workspace.Workspace) (_ workspace.Workspace, notes []string) {
	if w.Ports == 0 {
		return w, nil
	}
	had := w.Port
	w, err := s.allocatePorts(ctx, w, w.Ports)
	switch {
	case err != nil:
		s.Log.Warn("give a restored workspace its ports", "workspace", w.Name, "error", err)
		return w, []string{"its ports are somebody else's by now, and it has none: " + s.Explain(err).Detail}
	case w.Port != had:
		return w, []string{fmt.Sprintf("its ports are somebody else's by now: it has %d-%d", w.Port, w.Port+w.Ports-1)}
	}
	return w, nil
}

// allocatePorts allocates count ports in the store and returns w with them. With
// store.ErrNoPorts w has no ports.
func (s *App) allocatePorts(ctx context.Context, w workspace.Workspace, count int) (workspace.Workspace, error) {
	r := s.Ports
	r.Count = count
	first, err := s.Store.AllocatePorts(context.WithoutCancel(ctx), w.ID, r, portFree)
	switch {
	case count == 0 && errors.Is(err, store.ErrNoPorts):
		w.Port, w.Ports, err = 0, 0, nil
	case errors.Is(err, store.ErrNoPorts):
		w.Port, w.Ports = 0, 0
	case err == nil:
		w.Port, w.Ports = first, count
	}
	return w, err
}

// portFree reports whether no process listens on a port. It tries both loopback
// addresses and the wildcard, because a listener on one address does not always
// conflict with the others.
func portFree(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1", ""} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = l.Close()
		}
		// Other errors count for 127.0.0.1 only: a system may have no IPv6.
		if errors.Is(err, syscall.EADDRINUSE) || err != nil && host == "127.0.0.1" {
			return false
		}
	}
	return true
}
