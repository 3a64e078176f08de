//go:build linux || darwin

package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"errors"
	"net"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"middleman/internal/api"
	"middleman/internal/config"
	"middleman/internal/heldport"
	"middleman/internal/listen"
	"middleman/internal/testenv"
)

// takeable lists the addresses at which another program could listen on port.
func takeable(t *testing.T, port string) (at []string) {
	t.Helper()
	for _, host := range []string{"127.0.0.1", "::1", "0.0.0.0", "::"} {
		l, err := net.Listen("tcp", net.JoinHostPort(host, port))
		if err == nil {
			at = append(at, host)
			err = l.Close()
		}
		if err != nil && !errors.Is(err, syscall.EADDRINUSE) && !errors.Is(err, syscall.EADDRNOTAVAIL) {
			t.Fatal(err)
		}
	}
	return at
}

// While a login lasts nobody else can have the port, server or not, so that the
// login goes on with the next server. With the last login that ends.
func TestPortIsHeldWithoutAServer(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	if b := r.browserLogin(); !strings.HasSuffix(strings.Split(b.Origin, ":")[1], ".localhost") {
		t.Errorf("logged in at %s", b.Origin)
	}
	b := r.browserLogin()
	p.address = r.at
	for range 3 {
		r.stop()
		if at := takeable(t, port(r.at)); at != nil {
			t.Fatalf("without a server another program can listen at %q", at)
		}
		if conn, err := net.Dial("tcp", r.at); err == nil { // it is closed, and says nothing
			if n, err := conn.Read(make([]byte, 1)); n != 0 || err == nil {
				t.Errorf("the holder says something: %v", err)
			}
			conn.Close()
		}
		r = p.serve(t)
		if "http://"+r.tcp != b.Origin {
			t.Fatalf("the next server is %s, was %s", r.tcp, b.Origin)
		}
		if _, err := b.Access(t.Context()); err != nil {
			t.Fatalf("the login is over: %v", err)
		}
	}
	if a := r.call("DELETE", "/logins", nil); a.status >= 300 {
		t.Fatalf("log everybody out: status %d: %s", a.status, a.body)
	}
	r.stop()
	if at := takeable(t, port(r.at)); !slices.Contains(at, "127.0.0.1") {
		t.Errorf("without a login the port is held still: free at %q", at)
	}
}

// Another program that had the port can have left pages in the browser. What was
// logged in there is over, and so are links; the next server is another origin.
func TestLoginsEndWhereThePortWasNotHeld(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	b, link := r.browserLogin(), r.link()
	r.stop()
	p.endHolder(t)
	other, err := net.Listen("tcp", r.at)
	if err != nil {
		t.Fatal(err)
	}
	other.Close()
	p.address = r.at
	again := p.serve(t)
	if again.tcp == r.tcp || again.at != r.at {
		t.Fatalf("the next server is %s at %s, was %s at %s", again.tcp, again.at, r.tcp, r.at)
	}
	for _, host := range []string{r.tcp, again.tcp, again.at} {
		a := again.browse("POST", "/api/v1/login/challenge", api.LoginChallenge{Login: b.Login.ID, Nonce: "nonce of a browser"}, "Host", host)
		if a.status != http.StatusUnauthorized && a.status != http.StatusMisdirectedRequest {
			t.Errorf("the login, at %s: status %d: %s", host, a.status, a.body)
		}
	}
	if list := get[api.Logins](again, "GET", "/logins", nil).Logins; len(list) > 0 {
		t.Errorf("logins are left: %+v", list)
	}
	_, secret, _ := strings.Cut(link, "#")
	for _, at := range []string{link, "http://" + again.tcp + "/#" + secret} {
		if b, err := testenv.LogIn(t.Context(), at); err == nil {
			t.Errorf("a link of before logs in at %s", b.Origin)
		}
	}
}

// Pages are at the name alone, and so are logins; programs use either.
func TestPagesAreAtTheNameAlone(t *testing.T) {
	r := newPlace(t).serve(t)
	for host, want := range map[string]string{
		r.at:             "http://" + r.tcp + "/w/x?y=1",
		"localhost:4711": "http://" + strings.Split(r.tcp, ":")[0] + ":4711/w/x?y=1", // a forwarded port
		"[::1]":          "http://" + strings.Split(r.tcp, ":")[0] + "/w/x?y=1",
		"middleman-aaaaaaaaaaaaaaaa.localhost:" + port(r.at): "http://" + r.tcp + "/w/x?y=1", // of a server before
	} {
		a := r.browse("GET", "/w/x?y=1", nil, "Host", host)
		if got := a.header.Get("Location"); a.status != http.StatusTemporaryRedirect || got != want || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("a page at %s: status %d, to %q", host, a.status, got)
		}
		if strings.HasPrefix(host, "middleman-") {
			if a := r.browse("GET", "/api/v1/health", nil, "Host", host); a.status != http.StatusMisdirectedRequest {
				t.Errorf("the API at %s: status %d", host, a.status)
			}
			continue
		}
		login := api.NewLogin{Token: strings.Split(r.link(), "=")[1], Key: []byte("none"), Name: "test"}
		a = r.browse("POST", "/api/v1/login", login, "Host", host)
		if a.status != http.StatusForbidden || !strings.Contains(a.problem(t).Detail, strings.TrimSuffix(want, "/w/x?y=1")) {
			t.Errorf("a login at %s: status %d: %s", host, a.status, a.body)
		}
		if a := r.browse("GET", "/api/v1/health", nil, "Host", host); a.status != http.StatusOK {
			t.Errorf("the API at %s: status %d", host, a.status)
		}
	}
	if a := r.browse("GET", "/", nil, "Host", r.tcp); a.status != http.StatusOK {
		t.Errorf("the page at %s: status %d", r.tcp, a.status)
	}
}

// Browsers look for the name at both loopback addresses: a port that another
// program has on one of them is not ours.
func TestPortOfAnotherAtTheOtherAddress(t *testing.T) {
	other, err := net.Listen("tcp", "[::1]:0")
	if err != nil {
		t.Skipf("no IPv6 here: %v", err)
	}
	defer other.Close()
	p := newPlace(t)
	taken := "127.0.0.1:" + port(other.Addr().String())
	l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: taken})
	if err == nil {
		l.Close()
		t.Fatalf("listens at %s, while another program has %s", taken, other.Addr())
	}
	if !strings.Contains(err.Error(), "::1") || !strings.Contains(err.Error(), "--listen") {
		t.Errorf("it says %q", err)
	}
	l, err = listen.Open(listen.Options{Dirs: p.dirs, Address: taken, AnyPort: true})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := l.TCP[0].Addr().String(); got == taken {
		t.Errorf("listens at %s, while another program has %s", got, other.Addr())
	}
}

// A server that is told to listen elsewhere gives the port up, with its logins;
// one that finds its holder gone starts another at the next use of a login.
func TestHolderFollowsTheServer(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	r.browserLogin()
	r.stop()
	before := r.at
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	if l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: taken.Addr().String()}); err == nil {
		l.Close()
		t.Fatal("listens where another program does")
	}
	if at := takeable(t, port(before)); at != nil {
		t.Errorf("for an address that could not be had, the port was given up: free at %q", at)
	}
	r = p.serve(t) // at any port
	if r.at == before {
		t.Fatalf("listens at %s again", before)
	}
	if at := takeable(t, port(before)); !slices.Contains(at, "127.0.0.1") {
		t.Errorf("the port of before is held still: free at %q", at)
	}
	if list := get[api.Logins](r, "GET", "/logins", nil).Logins; len(list) > 0 {
		t.Errorf("logins are left: %+v", list)
	}
	r.browserLogin()
	p.endHolder(t)
	testenv.Eventually(t, patience, "another holder has the port", func() bool {
		holder, _, ls, err := heldport.Find(p.dirs.PortSocket())
		if err != nil {
			return false
		}
		for _, l := range ls {
			l.Close()
		}
		return holder.Close() == nil
	})
	r.stop()
	if at := takeable(t, port(r.at)); at != nil {
		t.Errorf("its holder was ended while the server ran: another program can listen at %q", at)
	}
	// One that nobody has told where to listen goes where the holder is.
	l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: "127.0.0.1:0", AnyPort: true})
	if err != nil {
		t.Fatal(err)
	}
	if at := l.TCP[0].Addr().String(); at != r.at || l.Port.Fresh {
		t.Errorf("a server in the background listens at %s, held is %s", at, r.at)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// The last login that logs itself out lets the holder go, although that ends
// its own request as well.
func TestLogoutLetsTheHolderGo(t *testing.T) {
	p := newPlace(t)
	r := p.serve(t)
	access := r.access(r.browserLogin())
	holderOf(t, p)
	if a := r.browse("POST", "/api/v1/logout", nil, "Authorization", access); a.status != http.StatusNoContent {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if _, _, ls, err := heldport.Find(p.dirs.PortSocket()); !errors.Is(err, heldport.ErrNone) {
		t.Errorf("a holder is left with %d listeners: %v", len(ls), err)
	}
}

// A holder that does not answer may have the port: no server listens elsewhere,
// and no login ends.
func TestHolderThatHangs(t *testing.T) {
	t.Parallel() // it waits most of the time
	p := newPlace(t)
	r := p.serve(t)
	b := r.browserLogin()
	r.stop()
	holder := holderOf(t, p)
	if err := testenv.Freeze(holder); err != nil {
		t.Fatal(err)
	}
	for _, background := range []bool{false, true} {
		l, err := listen.Open(listen.Options{Dirs: p.dirs, Address: r.at, AnyPort: background})
		if err == nil {
			l.Close()
			t.Errorf("in the background: %v: it listens", background)
		} else if !strings.Contains(err.Error(), p.dirs.PortSocket()) {
			t.Errorf("it says %q", err)
		}
	}
	if err := syscall.Kill(holder, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.address = r.at
	p.serve(t)
	if _, err := b.Access(t.Context()); err != nil {
		t.Errorf("the login is over: %v", err)
	}
}

// holderOf is the process that holds the port.
func holderOf(t *testing.T, p *place) int {
	t.Helper()
	out, err := exec.Command("ps", "-A", "-o", "pid=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 3 && fields[2] == heldport.Command && fields[3] == p.dirs.PortSocket() {
			pid, err := strconv.Atoi(fields[0])
			if err != nil {
				t.Fatal(err)
			}
			return pid
		}
	}
	t.Fatalf("nobody holds the port:\n%s", out)
	return 0
}

// Nobody holds a forwarded port while the forward is down: a login there takes a
// link that was made for it, and such a link is of no use elsewhere.
func TestForwardedPortTakesItsOwnLink(t *testing.T) {
	r := newPlace(t).serve(t)
	name := strings.Split(r.tcp, ":")[0]
	forwarded := name + ":4711"
	own := r.link()
	made := get[api.LoginLink](r, "POST", "/login-links", api.NewLoginLink{Port: 4711}).URL
	if !strings.HasPrefix(made, "http://"+forwarded+"/#login=") {
		t.Errorf("the link is %s", made)
	}
	trade := func(link, host string) answer {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		public, err := key.PublicKey.Bytes()
		if err != nil {
			t.Fatal(err)
		}
		login := api.NewLogin{Token: strings.Split(link, "=")[1], Key: public, Name: "test"}
		return r.browse("POST", "/api/v1/login", login, "Host", host, "Origin", "http://"+host)
	}
	for _, x := range []struct {
		link, host string
		status     int
	}{
		{own, forwarded, http.StatusUnauthorized}, {made, r.tcp, http.StatusUnauthorized}, {made, name + ":4712", http.StatusUnauthorized},
		{made, forwarded, http.StatusOK}, {made, forwarded, http.StatusUnauthorized}, {own, r.tcp, http.StatusOK},
	} {
		a := trade(x.link, x.host)
		if a.status != x.status {
			t.Errorf("%s at %s: status %d: %s", x.link, x.host, a.status, a.body)
		}
		if x.status == http.StatusUnauthorized && x.host == forwarded && !strings.Contains(a.problem(t).Detail, "open --port 4711") {
			t.Errorf("it says %s", a.body)
		}
	}
}

// A server in the background encrypts as the last one did that was started by
// hand, and one by hand as it is told.
func TestTLSIsRemembered(t *testing.T) {
	p := newPlace(t)
	for _, x := range []struct {
		background bool
		given      config.TLS
		want       config.TLS
	}{
		{false, config.TLS{Local: true}, config.TLS{Local: true}},
		{true, config.TLS{}, config.TLS{Local: true}},
		{false, config.TLS{}, config.TLS{}},
	} {
		l, err := listen.Open(listen.Options{
			Dirs: p.dirs, Address: "127.0.0.1:0", AnyPort: x.background, TLS: x.given.Enabled(), Settings: x.given,
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if got := listen.LastTLS(p.dirs); got != x.want {
			t.Errorf("after %+v: %+v", x, got)
		}
	}
}

// What is not a holder of ours is not believed.
func TestHolderThatIsNone(t *testing.T) {
	for name, answer := range map[string]string{
		"nothing":          "",
		"no sockets":       `{"port":{"address":"127.0.0.1:1","name":"middleman-a.localhost"}}` + "\n",
		"another machine":  `{"port":{"address":"192.0.2.1:1","name":"middleman-a.localhost"}}` + "\n",
		"a name elsewhere": `{"port":{"address":"127.0.0.1:1","name":"evil.example"}}` + "\n",
		"an endless line":  strings.Repeat("x", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			socket := testenv.ShortDir(t) + "/s"
			l, err := net.Listen("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			go func() { // until its other end has gone
				conn, err := l.Accept()
				if err != nil {
					return
				}
				conn.Write([]byte(answer))
				conn.Close()
			}()
			if _, port, ls, err := heldport.Find(socket); err == nil || errors.Is(err, heldport.ErrNone) {
				t.Errorf("found %+v with %d listeners: %v", port, len(ls), err)
			}
		})
	}
}
