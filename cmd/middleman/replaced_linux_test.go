package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"middleman/internal/api"
)

// Another machine at the address of a runtime is not taken for it: it is refused in one
// sentence and asked for nothing, no session looks ended, and all goes on when the right
// one is back.
func TestRuntimeReplaced(t *testing.T) {
	eachWay(t, func(t *testing.T, hub *machine, f *far) {
		hub.run("new", "w", "-d", "--mode", "directory", "-C", "box:/tmp", "--", "cat")
		hub.run("ls", "--sessions")
		other := &far{machine: newMachine(t), kind: f.kind}
		target, why := "", "the host's key is not the one that ssh knows"
		if f.kind == "ssh" {
			target = "127.0.0.1:" + other.sshd(newMachine(t), os.Getenv("PATH"))
		} else {
			other.run("serve", "--background", "--listen", "127.0.0.1:0", "--tls", "local")
			var serve api.Serve
			do(json.Unmarshal(must(os.ReadFile(filepath.Join(other.home, "run", "serve.json"))), &serve))
			target, why = serve.Address, "its certificate is not the expected one"
		}
		right := f.proxy.target
		f.proxy.set(func() { f.proxy.target = target })
		f.proxy.cut()
		said := func() string { _, errs, _ := hub.try("runtime", "check", "box"); return errs }
		if err := waitFor("the refusal", time.Minute, func() bool { return strings.Contains(said(), why) }); err != nil {
			t.Fatalf("%v: %s", err, said())
		}
		for _, args := range [][]string{{"send", "box:w", "x"}, {"rm", "box:w", "--stop-sessions"}, {"new", "v", "-d", "--mode", "directory", "-C", "box:/tmp"}} {
			if _, errs, code := hub.try(args...); code == 0 || !strings.Contains(errs, why) {
				t.Errorf("%s: %d %s", args[0], code, errs)
			}
		}
		if out, errs, code := hub.try("ls", "--sessions"); code != 0 || !strings.Contains(out, "unreachable") || strings.Contains(out+errs, "exited") || strings.Contains(out+errs, "lost") {
			t.Errorf("the list: %d %s%s", code, out, errs)
		}
		f.proxy.set(func() { f.proxy.target = right })
		if err := waitFor("the right one", time.Minute, func() bool { _, _, code := hub.try("runtime", "check", "box"); return code == 0 }); err != nil {
			t.Fatal(err)
		}
		hub.run("send", "box:w", "--enter", "still here")
		hub.run("wait", "box:w", "--text", "still here", "--timeout", "60s")
	})
}

// Two hubs that drive each other: each has the other's workspaces once, its own never, and
// no event comes back to where it is from.
func TestHubsInACircle(t *testing.T) {
	one := newMachine(t)
	one.run("serve", "--background", "--listen", "127.0.0.1:0", "--tls", "local")
	two := one.add("https")
	address := jsonField(t, string(must(os.ReadFile(filepath.Join(one.home, "run", "serve.json")))), "address")
	two.joins(&far{machine: one, proxy: newProxy(t, address), authority: authorityOf(t, address)}, "back")
	near, there := one.follow("events", "--json"), two.follow("events", "--json")
	near.await(`"type":"resync"`, "")
	there.await(`"type":"resync"`, "")
	for _, name := range []string{"first", "second"} {
		two.run("new", name, "-d", "--mode", "directory", "--", "cat")
		near.await(`"label":"box:`+name+`"`, "box:box:")
		there.await(`"label":"`+name+`"`, "box:")
	}
	if out := two.run("ls"); strings.Contains(out, "box:") {
		t.Errorf("its own workspaces came back:\n%s", out)
	}
	if out := one.until("first", "ls"); strings.Count(out, "first") != 1 || strings.Contains(out, "box:box:") {
		t.Errorf("the list of the other:\n%s", out)
	}
}
