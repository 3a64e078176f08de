//go:build linux || darwin

package server_test

import (
	"net"
	"testing"

	"middleman/internal/listen"
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
		l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: address, AnyPort: true})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		return l.TCP[0].Addr().String(), l.Instance
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
