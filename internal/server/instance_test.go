//go:build linux || darwin

package server_test

import (
	"net"
	"net/http"
	"testing"

	"middleman/internal/api"
	"middleman/internal/server"
)

// A port that is taken again and again leads to the same other port.
func TestAnotherPortStaysTheSame(t *testing.T) {
	p := newPlace(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	configured := taken.Addr().String()
	listen := func(address string) (string, string) {
		t.Helper()
		l, err := server.Listen(server.ListenOptions{Dirs: p.dirs, Address: address, AnyPort: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.TCP.Addr().String(), l.Instance
	}
	first, id := listen(configured)
	if first == configured || id == "" {
		t.Fatalf("listens on %s as %q", first, id)
	}
	for _, address := range []string{configured, "127.0.0.1:0"} {
		if again, sameID := listen(address); again != first || sameID != id {
			t.Errorf("%s: %s as %q, was %s as %q", address, again, sameID, first, id)
		}
	}
	if err := taken.Close(); err != nil {
		t.Fatal(err)
	}
	if got, _ := listen(configured); got != configured {
		t.Errorf("the configured address is free again: listens on %s", got)
	}
	other, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	again, err := net.Listen("tcp", configured)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if got, _ := listen(configured); got == configured || got == first {
		t.Errorf("both are taken: listens on %s", got)
	}
	write(t, p.dirs.InstanceFile(), "{ not json")
	if _, newID := listen(configured); newID == "" || newID == id {
		t.Errorf("after damage: %q, was %q", newID, id)
	}
}

// A login is of one port: a program that has taken it since could pass on
// what a page of ours signs for it. Back at that port, the login holds again.
func TestLoginHoldsAtItsPortAlone(t *testing.T) {
	p := newPlace(t)
	first := p.serve(t)
	b := first.browserLogin()
	first.stop()
	// The port before stays taken, so that the next server has another.
	hold, err := net.Listen("tcp", first.tcp)
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := p.serve(t)
	was := b.Origin
	for _, host := range []string{first.tcp, elsewhere.tcp} { // what a relay sends, and what it might
		a := elsewhere.browse("POST", "/api/v1/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: "nonce of a browser"}, "Host", host)
		if a.status != http.StatusUnauthorized {
			t.Errorf("login of %s, at %s as %s: status %d: %s", was, elsewhere.tcp, host, a.status, a.body)
		}
	}
	elsewhere.stop()
	if err := hold.Close(); err != nil {
		t.Fatal(err)
	}
	p.address = first.tcp
	back := p.serve(t)
	a := back.browse("POST", "/api/v1/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: "nonce of a browser"})
	if a.status != http.StatusUnauthorized { // who had the port meanwhile may have left a page that waits
		t.Errorf("back at %s, which another had: status %d: %s", was, a.status, a.body)
	}
}
