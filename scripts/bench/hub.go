//go:build linux

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"time"

	"middleman/internal/api"
	"middleman/ptyowner"
	"middleman/terminal"
)

// farName is the runtime that is the server of all other budgets.
const farName = "far"

// hubChain is a program behind an owner, its server, a hub and a WebSocket.
var hubChain = way{"hub", func(b *bench, argv []string) (*view, error) {
	id, remove, err := b.startSession(argv, ptyowner.Name)
	if err != nil {
		return nil, err
	}
	return b.openSocket(b.hub, "/runtimes/"+farName+"/sessions/"+id, remove)
}}

// throughHub is what a hub adds on the way to a session, how long it lists many
// runtimes, and what it costs while nobody uses it.
func (b *bench) throughHub() error {
	if err := b.startHub(); err != nil {
		return err
	}
	ways := []way{chain, hubChain}
	speed, err := b.rates(ways, b.pick(200, 10)<<20, b.pick(5, 3))
	if err != nil {
		return err
	}
	b.atLeast("throughput through a hub", speed["hub"], speed["WebSocket"], "MB/s", "WebSocket", 0.8)
	if err := b.hubEcho(ways); err != nil {
		return err
	}
	return b.listRuntimes(20, 50)
}

// startHub starts another server, whose runtime is the first one. Its ssh is a script
// that runs "middleman connect" here: the way of ssh without its encryption.
func (b *bench) startHub() error {
	bin := filepath.Join(b.dir, "bin")
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return err
	}
	script := fmt.Sprintf("#!/bin/sh\nMIDDLEMAN_HOME=%s exec %s connect\n", b.server.home, b.binary)
	if err := os.WriteFile(filepath.Join(bin, "ssh"), []byte(script), 0o700); err != nil {
		return err
	}
	hub, err := b.startServer(filepath.Join(b.dir, "hub"), "PATH="+bin+":"+os.Getenv("PATH"))
	if err != nil {
		return err
	}
	b.hub = hub
	r, err := hub.client.AddRuntime(b.ctx, api.NewRuntime{Name: farName, Address: "ssh://localhost"})
	if err == nil && r.State != "reachable" {
		err = fmt.Errorf("the hub's runtime is %s: %s", r.State, r.Detail)
	}
	return err
}

func (b *bench) hubEcho(ways []way) error {
	views, err := b.openAll(ways, b.program(modeEcho, 0))
	if err != nil {
		return err
	}
	defer endAll(views)
	rounds, err := b.echoAll(views)
	if err != nil {
		return err
	}
	b.addEcho(echoBar{what: "echo through a hub", ours: "hub", peer: "WebSocket"}, rounds, 50, 1.5)
	return nil
}

// listRuntimes measures a list of many runtimes, which are stand-ins that speak the API.
func (b *bench) listRuntimes(runtimes, sessions int) error {
	token := filepath.Join(b.dir, "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		return err
	}
	for i := range runtimes {
		s := httptest.NewTLSServer(standIn(sessions))
		defer s.Close()
		defer s.CloseClientConnections()
		sum := sha256.Sum256(s.Certificate().Raw)
		in := api.NewRuntime{Name: fmt.Sprintf("stand-in-%d", i), Address: s.URL, TokenFile: token, Pin: hex.EncodeToString(sum[:])}
		if _, err := b.hub.client.AddRuntime(b.ctx, in); err != nil {
			return err
		}
	}
	var took []time.Duration
	for range b.pick(30, 10) {
		began := time.Now()
		all, err := b.hub.client.Overview(b.ctx)
		if err != nil {
			return err
		}
		took = append(took, time.Since(began))
		listed := 0
		for _, r := range all {
			if r.Current {
				listed += len(r.Sessions)
			}
		}
		if listed < runtimes*sessions {
			return fmt.Errorf("%d sessions listed, want at least %d", listed, runtimes*sessions)
		}
	}
	b.within(fmt.Sprintf("list %d runtimes of %d sessions", runtimes, sessions), took, time.Second)
	return b.idleHub(runtimes + 1)
}

// standIn answers as a server that has workspaces with one session each.
func standIn(sessions int) http.Handler {
	var workspaces api.Workspaces
	var list api.Sessions
	for i := range sessions {
		w := api.Workspace{ID: terminal.NewID("w"), Name: fmt.Sprintf("work-%d", i), Mode: "worktree", State: "ready", CreatedAt: time.Now(), Path: "/home/user/src/project"}
		w.Label = w.Name
		workspaces.Workspaces = append(workspaces.Workspaces, w)
		list.Sessions = append(list.Sessions, api.Session{
			ID: terminal.NewID("s"), Name: "claude", WorkspaceID: w.ID, WorkspaceName: w.Name, Backend: "tmux", State: terminal.StateRunning, Argv: []string{"claude"},
			Size: terminal.DefaultSize, CreatedAt: time.Now(), AsOf: time.Now(), Source: "owner",
		})
	}
	mux := http.NewServeMux()
	for path, answer := range map[string]any{"version": api.Version{Version: "stand-in", API: api.Current, OldestAPI: api.Oldest}, "workspaces": workspaces, "sessions": list} {
		mux.HandleFunc("/api/v1/"+path, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(answer) }) // the hub may have left
	}
	mux.HandleFunc("/api/v1/events", func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // as above
		<-r.Context().Done()
	})
	return mux
}

// idleHub names what a hub costs, while nobody follows its events and while somebody
// does.
func (b *bench) idleHub(runtimes int) error {
	if err := b.idleCost(fmt.Sprintf("idle hub of %d runtimes", runtimes)); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(b.ctx)
	ended := make(chan error, 1)
	begun := make(chan struct{}, 1024)
	go func() {
		_, err := b.hub.client.Events(ctx, "", func(_ string, e api.Event) error {
			begun <- struct{}{}
			return nil
		})
		ended <- err
	}()
	for range runtimes { // each begins with an event
		select {
		case <-begun:
		case err := <-ended:
			cancel()
			return err
		}
	}
	err := b.idleCost("  its events followed")
	cancel()
	<-ended
	return err
}

func (b *bench) idleCost(what string) error {
	pid := b.hub.cmd.Process.Pid
	time.Sleep(settle)
	before, err := usageOf(pid)
	if err != nil {
		return err
	}
	watched := time.Duration(b.pick(30, 5)) * time.Second
	time.Sleep(watched)
	after, err := usageOf(pid)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{what: what, ours: fmt.Sprintf("%.1f MiB private, %d wake-ups and %d ms of CPU in %v",
		float64(after.private)/1024, after.switches-before.switches, 10*(after.ticks-before.ticks), watched)})
	return nil
}
