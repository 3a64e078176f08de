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

// needsPorts is whether w is a workspace that gets count ports and has not.
func needsPorts(w workspace.Workspace, count int) bool {
	return w.Mode != workspace.ModeInPlace && w.Ports != count
}

// givePorts gives w count ports as a stage, or takes away what it has where
// that is 0. A range without free ones is no reason to be without a workspace:
// it is said.
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

// restorePorts gives a restored workspace the ports that it had, or others
// where these are somebody's by now; notes say so.
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

// allocatePorts is w with the ports that the store now says are its own. They
// are none beside store.ErrNoPorts.
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

// portFree reports whether nobody listens on a port, on any address: a
// listener on one alone does not keep others from each of these.
func portFree(port int) bool {
	for _, host := range []string{"127.0.0.1", "::1", ""} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			err = l.Close()
		}
		// Of other errors the first address must be without; a system may have
		// no IPv6.
		if errors.Is(err, syscall.EADDRINUSE) || err != nil && host == "127.0.0.1" {
			return false
		}
	}
	return true
}
