package heldport

import (
	"net"
	"strings"
	"testing"
)

func TestParseMessage(t *testing.T) {
	for line, ok := range map[string]bool{
		`{}`:               true,
		`{"verb":"take"}`:  true,
		`{"error":"none"}`: true,
		`{"port":{"address":"127.0.0.1:8091","name":"middleman-ab2.localhost"}}`: true,
		`{"port":{"address":"[::1]:8091","name":"middleman-ab2.localhost"}}`:     true,
		`{"port":{"address":"127.0.0.1:8091","name":""}}`:                        false,
		`{"port":{"address":"127.0.0.1:8091","name":".localhost"}}`:              false,
		`{"port":{"address":"127.0.0.1:8091","name":"a/b.localhost"}}`:           false,
		`{"port":{"address":"127.0.0.1:8091","name":"evil.example"}}`:            false,
		`{"port":{"address":"192.0.2.1:8091","name":"a.localhost"}}`:             false,
		`{"port":{"address":"localhost:8091","name":"a.localhost"}}`:             false,
		`{"port":{"address":"127.0.0.1:","name":"a.localhost"}}`:                 false,
		`{"port":{"address":"127.0.0.1","name":"a.localhost"}}`:                  false,
		`not json`: false,
		``:         false,
	} {
		if _, err := parseMessage([]byte(line)); (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
	}
}

func FuzzMessage(f *testing.F) {
	f.Add([]byte(`{"verb":"give","port":{"address":"127.0.0.1:8091","name":"middleman-ab2.localhost"},"until":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"error":"x"}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseMessage(line)
		if err != nil || m.Port == (Port{}) {
			return
		}
		host, _, err := net.SplitHostPort(m.Port.Address)
		if ip := net.ParseIP(host); err != nil || !ip.IsLoopback() {
			t.Errorf("address %q", m.Port.Address)
		}
		if !strings.HasSuffix(m.Port.Name, ".localhost") || strings.ContainsAny(m.Port.Name, "/:@?# \r\n") {
			t.Errorf("name %q", m.Port.Name)
		}
	})
}

func TestNamesAreNew(t *testing.T) {
	one, two := NewName(), NewName()
	if one == two {
		t.Errorf("%s twice", one)
	}
	if _, err := parseMessage([]byte(`{"port":{"address":"127.0.0.1:1","name":"` + one + `"}}`)); err != nil {
		t.Error(err)
	}
}
