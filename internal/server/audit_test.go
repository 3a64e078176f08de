//go:build linux || darwin

package server_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/audit"
	"middleman/internal/server"
	"middleman/internal/store"
)

// Who came in, was refused, and destroyed what is on record, and no secret is.
func TestAuditRecords(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t, func(o *server.Options) {
		o.Audit = audit.New(p.dirs.Data, func(err error) { t.Error(err) })
	})
	secret, wrong := r.token(store.ScopeRead, "", time.Hour), store.NewSecret()
	w := r.workspace("audited", &api.NewSession{Command: []string{"cat"}})
	list, hostile := "/api/v1/workspaces", "evil\u009b2J\u202e.example"
	r.browse("GET", list, nil, "Authorization", "Bearer "+secret)
	r.browse("GET", list, nil, "Authorization", "Bearer "+secret) // no second first use
	for range 50 {
		r.browse("GET", list, nil, "Authorization", "Bearer "+wrong)
	}
	r.browse("DELETE", list+"/"+w.ID, nil, "Authorization", "Bearer "+secret)
	for range 50 { // whoever has a token pushes nothing out of the log either
		r.browse("POST", "/api/v1/login", api.NewLogin{}, "Authorization", "Bearer "+secret)
	}
	r.browse("GET", "/", nil, "Host", "evil.example")
	r.browse("POST", "/api/v1/prune", nil, "Origin", "http://"+hostile)
	r.call("DELETE", "/workspaces/"+w.ID, nil)
	r.call("DELETE", "/workspaces/"+w.ID+"?dry_run=1&stop_sessions=1", nil)
	r.call("DELETE", "/sessions/"+w.Sessions[0].ID, nil)
	r.call("DELETE", "/workspaces/"+w.ID+"?discard_work=1&stop_sessions=1", nil)
	hash := p.configure(t, "ports = 0\n")
	get[api.Approved](r, "POST", "/trust", api.ApproveIn{Directory: p.repository, Hash: hash})
	r.stop()

	records, damaged, err := audit.Read(p.dirs.Data, time.Time{})
	if err != nil || damaged != 0 {
		t.Fatal(damaged, err)
	}
	var got []string
	for _, x := range records {
		line := x.Event + " " + x.Outcome + " " + x.By.Kind + x.By.Name
		if x.Event == audit.Delete {
			line += " " + strings.ReplaceAll(x.What, w.ID, "ID")
		}
		if x.By.Kind == "socket" && (x.By.UID == nil || *x.By.UID != os.Getuid() || x.From != "") {
			t.Errorf("%+v", x)
		}
		if x.By.Kind == "token" && x.From != "127.0.0.1" {
			t.Errorf("%+v", x)
		}
		got = append(got, strings.TrimSpace(line))
	}
	want := []string{
		"server-start ok server",
		"token-use ok tokentest",
		"unauthorized refused",
		"forbidden refused tokentest",
		"login refused tokentest",
		"bad-host refused",
		"bad-origin refused",
		"workspace-delete refused socket workspace ID",
		"session-stop ok socket",
		"workspace-delete ok socket workspace ID discard_work=1 stop_sessions=1 name audited",
		"trust ok socket",
		"server-stop ok server",
	}
	for _, line := range want {
		found := false
		for _, g := range got {
			found = found || g == line
		}
		if !found {
			t.Errorf("no record %q", line)
		}
	}
	if len(got) > len(want)+2 { // and the counts of what was refused more than once
		t.Errorf("records:\n%s", strings.Join(got, "\n"))
	}
	files, err := filepath.Glob(filepath.Join(p.dirs.Data, "audit*.log*"))
	if err != nil || len(files) != 2 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte(secret)) || bytes.Contains(raw, []byte(wrong)) {
			t.Errorf("%s holds a secret", file)
		}
		if bytes.ContainsFunc(raw, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }) {
			t.Errorf("%s is not plain", file)
		}
	}
}
