//go:build linux || darwin

package server_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
	"middleman/internal/store"
)

// Only a process of this user ends the server, and no token of whatever scope. What
// waits for a restart, and why none is possible, is told.
func TestEndOfServer(t *testing.T) {
	var asked []string
	problem := errors.New("line 1: no")
	r := newPlace(t).serve(t, func(o *server.Options) {
		o.End = func(restart bool, program string) error {
			asked = append(asked, fmt.Sprint(restart, program))
			return nil
		}
		o.Waiting = func() ([]string, error) { return []string{"ports.first"}, problem }
	})
	full := "Bearer " + r.token(store.ScopeFull, "", time.Hour)
	for _, path := range []string{"/server/stop", "/server/restart", "/server/restart?program=/bin/sh"} {
		if status := r.status(http.MethodPost, path, full); status != http.StatusForbidden || len(asked) > 0 {
			t.Errorf("%s with a token: %d, asked %v", path, status, asked)
		}
	}
	agent := r.request(http.MethodPost, "http://"+r.tcp+"/api/v1/workspaces/w0/push", api.Push{Agent: "/tmp/agent"}, "Authorization", full)
	if a := r.do(browser, agent); a.status != http.StatusForbidden {
		t.Errorf("an agent with a token: %d", a.status)
	}
	v := get[api.Server](r, http.MethodPost, "/server/restart", nil)
	if v.PID == 0 || v.Since.IsZero() || v.URL == "" || v.Problem != problem.Error() || !slices.Equal(v.Waiting, []string{"ports.first"}) {
		t.Errorf("%+v", v)
	}
	get[api.Server](r, http.MethodPost, "/server/restart?program=%2Fb%20c", nil)
	if v = get[api.Server](r, http.MethodPost, "/server/stop", nil); !slices.Equal(asked, []string{"true", "true/b c", "false"}) {
		t.Errorf("asked %v, %+v", asked, v)
	}
}
