package config

import (
	"reflect"
	"slices"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// FuzzParse: settings that are taken are in order, and the same once they were
// written and read again.
func FuzzParse(f *testing.F) {
	f.Add([]byte("listen = \"127.0.0.1:0\"\n[terminal]\njournal_bytes = 0\ngrace = \"1m30s\"\n[ports]\nfirst = 20000\nlast = 20010\n"))
	f.Add([]byte("hosts = [\"a\"]\n[tls]\nlocal = true\n[attach]\ndetach = \"ctrl-a\"\n"))
	f.Add([]byte("[transcripts]\nkeep = \"2GiB\"\n"))
	f.Add([]byte("[transcripts]\nkeep = \"all\"\n"))
	f.Add([]byte("[env]\nforward = [\"A*\"]\ndeny = [\"[a-\"]\n[shell]\nlogin = true\n"))
	f.Add([]byte("[setup]\ntimeout = \"-1s\"\n"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		first := Default()
		if err := first.parse(raw); err != nil {
			return
		}
		if _, err := first.Attach.DetachByte(); err != nil {
			t.Fatal(err)
		}
		written, err := toml.Marshal(first)
		if err != nil {
			t.Fatal(err)
		}
		second := Default()
		if err := second.parse(written); err != nil {
			t.Fatalf("it does not read what it wrote: %v\n%s", err, written)
		}
		if len(first.Hosts) == 0 {
			first.Hosts, second.Hosts = nil, nil // an empty list is none
		}
		for _, c := range []*Config{&first, &second} {
			for _, list := range []*[]string{&c.Sandbox.Hide, &c.Sandbox.Show, &c.Sandbox.Writable, &c.Sandbox.Network, &c.Sandbox.Secrets, &c.Sandbox.Logins} {
				*list = slices.Concat(*list)
			}
			c.Env.Forward, c.Env.Deny, c.Notify.Command = slices.Concat(c.Env.Forward), slices.Concat(c.Env.Deny), slices.Concat(c.Notify.Command) // nil if empty
		}
		if !reflect.DeepEqual(first, second) {
			t.Fatalf("%+v became %+v", first, second)
		}
	})
}
