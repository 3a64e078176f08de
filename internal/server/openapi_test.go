//go:build linux || darwin

package server_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

func TestOpenAPIListsAllRoutes(t *testing.T) {
	r := newPlace(t).serve(t)
	var doc struct {
		OpenAPI string
		Servers []struct{ URL string }
		Paths   map[string]map[string]struct {
			OperationID string
			Responses   map[string]any
		}
		Components struct{ Schemas map[string]any }
	}
	a := r.call("GET", "/openapi.json", nil)
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(doc.OpenAPI, "3.1.") || doc.Servers[0].URL != "/api/v1" {
		t.Errorf("openapi %s, servers %v", doc.OpenAPI, doc.Servers)
	}
	var got []string
	ids := map[string]bool{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			got = append(got, strings.ToUpper(method)+" "+path)
			if op.OperationID == "" || ids[op.OperationID] || len(op.Responses) < 2 {
				t.Errorf("%s %s: %+v", method, path, op)
			}
			ids[op.OperationID] = true
		}
	}
	slices.Sort(got)
	want := []string{
		"DELETE /sessions/{session}", "DELETE /workspaces/{workspace}", "GET /events", "GET /health", "GET /sessions",
		"GET /sessions/{session}", "GET /sessions/{session}/capture", "GET /sessions/{session}/output", "GET /sessions/{session}/recording",
		"GET /sessions/{session}/terminal", "GET /sessions/{session}/wait", "GET /sessions/{session}/workers", "GET /version", "GET /workers", "GET /workspaces",
		"GET /workspaces/{workspace}", "GET /workspaces/{workspace}/commits", "GET /workspaces/{workspace}/conflicts",
		"GET /workspaces/{workspace}/diff", "GET /workspaces/{workspace}/events", "GET /workspaces/{workspace}/sessions",
		"POST /login-links", "POST /logout", "POST /prune", "POST /sessions/{session}/input", "POST /sessions/{session}/prompt", "POST /sessions/{session}/report", "POST /sessions/{session}/workers", "POST /workspaces", "POST /workspaces/{workspace}/restore", "POST /workspaces/{workspace}/retry",
		"POST /workspaces/{workspace}/sessions",
	}
	want = append(want, "POST /import", "POST /repair", "POST /sessions/{session}/rename", "POST /sessions/{session}/resume", "GET /sessions/{session}/status", "POST /workspaces/{workspace}/rename", "POST /workspaces/{workspace}/merge", "POST /workspaces/{workspace}/push", "POST /workspaces/{workspace}/sandbox/import", "GET /transcripts", "DELETE /transcripts", "GET /search")
	want = append(want, "GET /backends", "GET /server", "POST /server/stop", "POST /server/restart")
	want = append(want, "POST /login", "POST /login/challenge", "POST /login/access", "GET /logins", "DELETE /logins",
		"DELETE /logins/{login}", "POST /sessions/{session}/tickets")
	want = append(want, "GET /push-subscription", "PUT /push-subscription", "DELETE /push-subscription")
	want = append(want, "GET /tokens", "POST /tokens", "DELETE /tokens/{token}", "POST /tokens/{token}/rotate")
	want = append(want, "GET /approvals", "GET /approvals/{approval}", "POST /approvals/{approval}", "GET /sessions/{session}/approvals", "POST /sessions/{session}/approvals")
	want = append(want, "GET /profiles", "GET /workspaces/{workspace}/profiles")
	want = append(want, "POST /bundles", "GET /bundles", "GET /bundles/{bundle}", "GET /bundles/{bundle}/availability", "DELETE /bundles/{bundle}")
	want = append(want, "GET /runtimes", "POST /runtimes", "DELETE /runtimes/{runtime}", "POST /runtimes/{runtime}/check", "GET /overview", "POST /runtimes/{runtime}/sessions/{session}/tickets")
	for _, forwarded := range []string{
		"GET /version", "GET /workspaces", "POST /workspaces", "GET /workspaces/{workspace}", "DELETE /workspaces/{workspace}",
		"POST /workspaces/{workspace}/retry", "POST /workspaces/{workspace}/restore", "GET /workspaces/{workspace}/diff",
		"GET /workspaces/{workspace}/commits", "GET /workspaces/{workspace}/conflicts", "GET /workers", "GET /transcripts",
		"GET /sessions", "GET /workspaces/{workspace}/sessions", "POST /workspaces/{workspace}/sessions", "GET /sessions/{session}",
		"DELETE /sessions/{session}", "POST /sessions/{session}/resume", "GET /sessions/{session}/status", "POST /sessions/{session}/prompt",
		"POST /sessions/{session}/input", "GET /sessions/{session}/capture", "GET /sessions/{session}/output", "GET /sessions/{session}/recording",
		"GET /sessions/{session}/wait", "GET /sessions/{session}/terminal", "GET /approvals", "GET /sessions/{session}/approvals",
		"GET /approvals/{approval}", "POST /approvals/{approval}",
		"POST /workspaces/{workspace}/rename", "POST /workspaces/{workspace}/merge", "POST /workspaces/{workspace}/push",
		"POST /workspaces/{workspace}/sandbox/import", "POST /sessions/{session}/rename", "GET /sessions/{session}/workers",
		"POST /prune", "DELETE /transcripts", "POST /import", "POST /repair", "POST /sessions/{session}/workers", "GET /config", "GET /trust", "POST /trust",
		"DELETE /trust", "GET /workspaces/{workspace}/trust", "POST /workspaces/{workspace}/trust", "GET /workspaces/{workspace}/setup-log",
		"POST /bundles", "GET /bundles", "GET /bundles/{bundle}", "GET /bundles/{bundle}/availability", "DELETE /bundles/{bundle}", "GET /search",
		"GET /profiles", "GET /workspaces/{workspace}/profiles",
	} {
		want = append(want, strings.Replace(forwarded, " ", " /runtimes/{runtime}", 1))
	}
	slices.Sort(want)
	if want = slices.Sorted(slices.Values(append(want, trustPaths...))); !slices.Equal(got, want) {
		t.Errorf("routes:\n%s", strings.Join(got, "\n"))
	}
	if doc.Components.Schemas["Problem"] == nil || strings.Contains(string(a.body), "$schema") {
		t.Error("no schema of problems, or $schema links")
	}
	checkRefs(t, a.body)
	for _, path := range []string{"/docs", "/api/v1/docs", "/api/v1/openapi.yaml", "/api/v1/schemas/Workspace.json"} {
		if a := r.do(r.socket, r.request("GET", "http://localhost"+path, nil)); strings.HasPrefix(path, "/api") && a.status != 404 {
			t.Errorf("%s: %d", path, a.status)
		}
	}
}

// checkRefs resolves each $ref of a document.
func checkRefs(t *testing.T, data []byte) {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	var walk func(any)
	walk = func(node any) {
		switch node := node.(type) {
		case []any:
			for _, x := range node {
				walk(x)
			}
		case map[string]any:
			if ref, ok := node["$ref"].(string); ok {
				at := any(doc)
				for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
					m, _ := at.(map[string]any)
					at = m[name]
				}
				if at == nil {
					t.Errorf("%s leads nowhere", ref)
				}
			}
			for _, x := range node {
				walk(x)
			}
		}
	}
	walk(doc)
}
