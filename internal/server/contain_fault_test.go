//go:build faults && linux

package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/fault"
	"middleman/internal/server"
	"middleman/terminal"
)

// A fault of ours while one session is asked leaves the list what the store
// knows of it.
func TestFaultPanicOfAView(t *testing.T) {
	plan := fault.NewPlan(t.TempDir())
	t.Setenv(plan.Variable())
	p, log := newPlace(t), &panicLog{testLog: testLog{t}}
	r := p.serve(t, func(o *server.Options) { o.Log = slog.New(slog.NewTextHandler(log, nil)) })
	w := r.workspace("w", nil)
	one, two := r.session(w, "cat"), r.session(w, "cat")
	if err := plan.Set("view/session", fault.Panic, 0, 1); err != nil {
		t.Fatal(err)
	}
	sources := map[string]int{}
	for _, s := range get[api.Sessions](r, "GET", "/sessions", nil).Sessions {
		if s.ID != one.ID && s.ID != two.ID || s.State != terminal.StateRunning {
			t.Errorf("%+v", s)
		}
		sources[s.Source]++
	}
	if len(sources) != 2 || sources["store"] != 1 {
		t.Errorf("sources: %v", sources)
	}
	log.mu.Lock()
	defer log.mu.Unlock()
	if text := log.text.String(); !strings.Contains(text, "contained: view of session") || !strings.Contains(text, "sessionViews") {
		t.Errorf("logged: %s", text)
	}
}
