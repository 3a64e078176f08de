package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/testenv"
)

// login revoke names the tokens that end with a login, and says what stays.
func TestLoginRevokeNamesTheTokensThatEnd(t *testing.T) {
	o := ordinary(t)
	o.must(o.command("serve", "--background", "--listen", "127.0.0.1:0"))
	o.must(o.command("token", "create", "own", "--scope", "full"))
	steal := func(name string) api.CreatedToken {
		t.Helper()
		link := strings.TrimSpace(o.must(o.command("open")))
		b, err := testenv.LogIn(t.Context(), link)
		if err != nil {
			t.Fatal(err)
		}
		access, err := b.Access(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		at, _, _ := strings.Cut(link, "/#")
		req, err := http.NewRequestWithContext(t.Context(), "POST", at+"/api/v1/tokens", strings.NewReader(`{"name":"`+name+`","scope":"full"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+access)
		resp, err := (&http.Client{Transport: testenv.BrowserTransport()}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var made api.CreatedToken
		if err := json.NewDecoder(resp.Body).Decode(&made); err != nil || made.Secret == "" || made.Token.Login != b.Login.ID {
			t.Fatalf("a browser makes a token: %d, %v, %+v", resp.StatusCode, err, made.Token)
		}
		return made
	}
	said := func(args ...string) string {
		t.Helper()
		out, err := o.command(args...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %v: %s", args, err, out)
		}
		return string(out)
	}
	one, two, kept := steal("one"), steal("two"), steal("kept")
	said("login", "revoke", kept.Token.Login, "--keep-tokens")
	if text := said("login", "revoke", one.Token.Login); text != "token one ("+one.Token.ID+"), scope full, ended with login "+one.Token.Login+"\n" {
		t.Errorf("revoke ID: %q", text)
	}
	text := said("login", "revoke", "--all")
	for _, want := range []string{"token two (" + two.Token.ID + ")", "token kept (" + kept.Token.ID + ")", "still valid: 1 of your tokens"} {
		if !strings.Contains(text, want) {
			t.Errorf("revoke --all: %q is not in %q", want, text)
		}
	}
	if list := said("token", "list"); strings.Contains(list, "two") || !strings.Contains(list, "own ") {
		t.Errorf("token list: %s", list)
	}
}
