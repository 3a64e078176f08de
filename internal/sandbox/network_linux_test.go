package sandbox

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"middleman/internal/egress"
	"middleman/internal/private"
)

// A program whose policy has a network list reaches its hosts, nothing else, and is
// otherwise as in any sandbox.
func TestNetworkList(t *testing.T) {
	if s := Probe(); s.Bubblewrap == "" {
		t.Skip(s.NoBubblewrap)
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("bash is not installed")
	}
	allowed, other := greeter(t), greeter(t)
	at := newPlace(t)
	for _, level := range []Level{Workspace, Strict} {
		t.Run(string(level), func(t *testing.T) {
			state := filepath.Join(at.base, "state-"+string(level))
			if err := os.Mkdir(state, 0o700); err != nil {
				t.Fatal(err)
			}
			p := at.policy(Bubblewrap)
			p.Level = level
			p.Network = Network{Allow: []string{"127.0.0.1:" + allowed, "registry.example", "*.example.org"}, Log: filepath.Join(state, "denials")}
			p.Limits.Memory = 4 << 30
			for _, c := range []struct{ script, out string }{
				{"cat </dev/tcp/127.0.0.1/" + allowed, "hello"},
				{"exec 3<>/dev/tcp/127.0.0.1/1023; printf 'CONNECT 127.0.0.1:" + allowed + " HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3 | tail -1", "hello"},
				{"exec 3<>/dev/tcp/127.0.0.1/1023; printf 'CONNECT 127.0.0.1:" + other + " HTTP/1.1\\r\\n\\r\\n' >&3; head -1 <&3", "HTTP/1.1 403 Forbidden\r"},
				{"cat </dev/tcp/127.0.0.1/" + other + " 2>/dev/null || echo refused", "refused"},
				{"getent ahostsv4 registry.example | head -1 | cut -d ' ' -f 1", "127.96.0.1"},
				{"getent ahostsv4 a.example.org | head -1 | cut -d ' ' -f 1", "127.96.0.2"},
				{"getent hosts evil.test || echo unknown", "unknown"},
				{"getent hosts localhost >/dev/null && getent hosts $(uname -n) >/dev/null && echo known", "known"},
				{"echo $http_proxy $ALL_PROXY", "http://127.0.0.1:1023 socks5h://127.0.0.1:1023"},
				{"grep -c '^Cap\\(Inh\\|Prm\\|Eff\\|Amb\\):.0*$' /proc/self/status", "4"},
				{"ls /proc/self/fd | tr '\\n' ' '", "0 1 2 3"}, // 3 is the directory itself
				{"cat ../secret/key 2>/dev/null || echo hidden", "hidden"},
				{"exit 9", "exit status 9"},
			} {
				out, err := command(t, p, "bash", "-c", c.script).Output()
				got := strings.TrimSuffix(strings.TrimRight(string(out), " "), "\n")
				if err != nil {
					got += err.Error()
				}
				if got != c.out {
					t.Errorf("%s printed %q, want %q", c.script, got, c.out)
				}
			}
			denied, err := egress.ReadDenials(p.Network.Log, 100)
			if err != nil || len(denied) != 2 || denied[0].Target != "127.0.0.1:"+other || denied[1].Target != "evil.test" {
				t.Errorf("denials %+v, %v", denied, err)
			}
		})
	}
}

// greeter is a server of this machine that greets everybody. It returns its port.
func greeter(t *testing.T) (port string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello\n")
			c.Close()
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
	})
	return fmt.Sprint(l.Addr().(*net.TCPAddr).Port)
}

// A list that cannot be parsed starts nothing.
func TestNetworkListIsChecked(t *testing.T) {
	at := newPlace(t)
	p := at.policy(Bubblewrap)
	p.Network = Network{Allow: []string{"*"}, Log: filepath.Join(at.base, "denials")}
	if out, code := shell(t, p, "echo started"); code != exitRefused || !strings.Contains(out, `network entry "*"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, err := private.ReadFile(p.Network.Log); err == nil {
		t.Error("there is a log")
	}
}

// A list that cannot be read starts nothing, and says what is wrong with it.
func TestBadNetworkList(t *testing.T) {
	at := newPlace(t)
	for says, n := range map[string]Network{
		"list of hosts":   {Allow: []string{"a b"}, Log: filepath.Join(at.base, "denials")},
		"list of secrets": {Allow: []string{"example.org"}, Masked: []string{"KEY"}, Log: filepath.Join(at.base, "denials")},
	} {
		p := at.policy(Bubblewrap)
		p.Network = n
		out, err := command(t, p, "echo", "started").CombinedOutput()
		if err == nil || !strings.Contains(string(out), says) || strings.Contains(string(out), "started") {
			t.Errorf("%v: %v, %q, want %q", n, err, out, says)
		}
	}
}
