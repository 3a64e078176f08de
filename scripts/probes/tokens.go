//go:build linux

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

// token makes one by the command line and returns its secret.
func (s *server) token(args ...string) string {
	o := s.ok(append([]string{"token", "create", "--json"}, args...)...)
	var v struct {
		Secret, Token any
	}
	unmarshal(o.stdout, &v)
	if secret, is := v.Secret.(string); is && secret != "" {
		return secret
	}
	must(fmt.Errorf("token create: %s", o))
	return ""
}

// scoped are tokens of the shared server, made once.
type scoped struct{ full, read, session string }

func newScoped(w *world) (t scoped, err error) {
	defer func() {
		if b, is := recover().(broken); is {
			err = b.err
		}
	}()
	s := must1(w.shared())
	t.full = s.token("probe-full", "--scope", "full")
	t.read = s.token("probe-read", "--scope", "read")
	t.session = s.token("probe-session", "--scope", "session", "--session", s.session)
	return t, nil
}

func tokenProbes() []probe {
	probes := []probe{{id: "control", title: "each scope does what it may", control: true, gain: "nothing: it shows that the refusals below are refusals", run: tokenControl}}
	for _, o := range operations {
		if o.method != "GET" || o.path == "/logins" || o.path == "/tokens" {
			if !strings.HasSuffix(o.path, "/sessions/{s}/tickets") { // its own probes, below, and TestRuntimeTickets
				probes = append(probes, scopeProbe("read", o, func(t scoped) string { return t.read }))
			}
		}
		if !strings.HasPrefix(o.path, "/sessions/{s}") || o.method != "GET" || strings.HasSuffix(o.path, "/workers") {
			if o.path != "/sessions/{s}/tickets" && o.path != "/version" {
				probes = append(probes, scopeProbe("session", o, func(t scoped) string { return t.session }))
			}
		}
	}
	for _, path := range []string{"", "/capture", "/output", "/recording", "/wait?text=x&timeout=1s", "/terminal?mode=watch"} {
		probes = append(probes, probe{id: "other-session/get" + strings.ReplaceAll(strings.Split(path, "?")[0], "/", "-"), title: "a token of one session on another's " + path, gain: "somebody else's terminal, with a share of one",
			run: func(w *world) error {
				s := must1(w.shared())
				_, other := s.newTarget("token-other"+strings.ReplaceAll(strings.Split(path, "?")[0], "/", "-"), "cat")
				return s.send(request{method: "GET", path: "/api/v1/sessions/" + other + path, headers: append(bearer(must1(w.tokens()).session), upgradeHeaders...)}).wants(path, http.StatusForbidden)
			}})
	}
	for _, v := range variants {
		probes = append(probes, probe{id: "variant/" + v.name, title: "a right token, " + v.title, gain: "a token by a part of it, or by where it should not be", run: func(w *world) error {
			s := must1(w.shared())
			return s.send(v.at(must1(w.tokens()).full)).wants(v.title, http.StatusUnauthorized, http.StatusUnprocessableEntity)
		}})
	}
	return append(probes, tokenLives()...)
}

// scopeProbe has a token ask for more than its scope.
func scopeProbe(scope string, o operation, of func(scoped) string) probe {
	return probe{id: scope + "/" + o.slug(), title: o.method + " " + o.path + " with a token of the scope " + scope, gain: o.gain, run: func(w *world) error {
		s := must1(w.shared())
		if err := s.send(o.at(s, bearer(of(must1(w.tokens())))...)).wants("with "+scope, http.StatusForbidden); err != nil {
			return err
		}
		if o.method == "GET" {
			return nil
		}
		return s.alive()
	}}
}

func tokenControl(w *world) error {
	s, t := must1(w.shared()), must1(w.tokens())
	return errors.Join(s.works(bearer(t.full)), s.works(bearer(t.read)),
		s.send(request{method: "GET", path: "/api/v1/sessions/" + s.session + "/capture", headers: bearer(t.session)}).wants("its session", http.StatusOK),
		s.send(request{method: "POST", path: "/api/v1/sessions/" + s.session + "/input", headers: bearer(t.full), body: " "}).wants("typing", http.StatusNoContent, http.StatusOK))
}

// variants are a right token in a wrong form or place.
var variants = []struct {
	name, title string
	at          func(token string) request
}{
	{"prefix", "without its last letter", func(t string) request { return asking("Authorization: Bearer " + t[:len(t)-1]) }},
	{"suffix", "without its first letter", func(t string) request { return asking("Authorization: Bearer " + t[1:]) }},
	{"longer", "and a letter more", func(t string) request { return asking("Authorization: Bearer " + t + "A") }},
	{"case", "in the other case", func(t string) request { return asking("Authorization: Bearer " + swapCase(t)) }},
	{"half", "its first half", func(t string) request { return asking("Authorization: Bearer " + t[:len(t)/2]) }},
	{"quoted", "in quotes", func(t string) request { return asking(`Authorization: Bearer "` + t + `"`) }},
	{"twice", "twice", func(t string) request { return asking("Authorization: Bearer " + t + t) }},
	{"list", "after a wrong one", func(t string) request { return asking("Authorization: Bearer x, Bearer " + t) }},
	{"basic", "as a password", func(t string) request { return asking("Authorization: Basic " + t) }},
	{"cookie", "as a cookie", func(t string) request { return asking("Cookie: token=" + t + "; middleman=" + t) }},
	{"header", "in another header", func(t string) request {
		return asking("X-Api-Key: "+t, "X-Auth-Token: "+t, "Proxy-Authorization: Bearer "+t)
	}},
	{"query", "in the query", func(t string) request { return request{method: "GET", path: "/api/v1/workspaces?access_token=" + t} }},
	{"ticket", "as a ticket", func(t string) request { return request{method: "GET", path: "/api/v1/workspaces?ticket=" + t} }},
	{"wildcard", "with a wildcard in it", func(t string) request { return asking("Authorization: Bearer " + t[:len(t)-1] + "_") }},
}

func asking(headers ...string) request {
	return request{method: "GET", path: "/api/v1/workspaces", headers: headers}
}

func tokenLives() []probe {
	const gain = "access with a token that has ended"
	return []probe{
		{id: "life/expired", title: "a token after its time", gain: gain, slow: true, run: func(w *world) error {
			s := must1(w.heavy())
			token := s.token("short", "--scope", "full", "--expires", "2s")
			must(s.works(bearer(token)))
			time.Sleep(3 * time.Second) // what is probed is the time
			return s.worksNot(bearer(token))
		}},
		{id: "life/expired-terminal", title: "a terminal that is open when its token's time is over", gain: "typing for ever with a token for an hour", slow: true, run: func(w *world) error {
			s := must1(w.heavy())
			_, session := s.newTarget("expiring", "cat")
			c, a := s.dial(session, "mode=attach", bearer(s.token("short-terminal", "--scope", "full", "--expires", "3s"))...)
			if c == nil {
				return fmt.Errorf("%s", a)
			}
			defer c.close()
			return c.closed(30 * time.Second)
		}},
		{id: "life/revoked", title: "a token that was revoked", gain: gain, run: func(w *world) error { return tokenEnds(w, "revoke", "token") }},
		{id: "life/revoked-terminal", title: "a terminal that is open when its token is revoked", gain: "typing after the token was taken away", run: func(w *world) error { return tokenEnds(w, "revoke", "terminal") }},
		{id: "life/revoked-events", title: "an event stream that is open when its token is revoked", gain: "everything that happens, after the token was taken away", run: func(w *world) error { return tokenEnds(w, "revoke", "events") }},
		{id: "life/rotated", title: "the old secret of a token that was rotated", gain: gain, run: func(w *world) error { return tokenEnds(w, "rotate", "token") }},
		{id: "life/rotated-terminal", title: "a terminal that is open when its token is rotated", gain: "typing with a secret that was changed because it leaked", run: func(w *world) error { return tokenEnds(w, "rotate", "terminal") }},
		{id: "life/secret-kept", title: "no secret of a token in any file", gain: "tokens for who has a backup", run: func(w *world) error {
			s := must1(w.heavy())
			secrets := []string{s.token("kept", "--scope", "full")}
			s.send(request{method: "GET", path: "/api/v1/workspaces", headers: bearer(secrets[0])})
			return s.nowhere(secrets, "")
		}},
		{id: "life/secret-listed", title: "no secret of a token in the list of tokens", gain: "tokens for who may look", run: func(w *world) error {
			s := must1(w.shared())
			t := must1(w.tokens())
			for _, secret := range []string{t.full, t.read, t.session} {
				if a := s.local("GET", "/api/v1/tokens", ""); strings.Contains(a.body, secret) || a.status != http.StatusOK {
					return fmt.Errorf("%s", a)
				}
			}
			return nil
		}},
		{id: "ticket/session-attach", title: "a ticket for attaching, with a token for watching", gain: "typing, with a token for looking", run: func(w *world) error {
			return ticketFor(must1(w.shared()), must1(w.tokens()).session, "attach")
		}},
		{id: "ticket/read-attach", title: "a ticket for attaching, with a token for reading", gain: "typing, with a token for looking", run: func(w *world) error {
			return ticketFor(must1(w.shared()), must1(w.tokens()).read, "attach")
		}},
		{id: "attach/session", title: "attaching with a token for watching", gain: "typing, with a token for looking", run: func(w *world) error { return attachWith(must1(w.shared()), must1(w.tokens()).session) }},
		{id: "attach/read", title: "attaching with a token for reading", gain: "typing, with a token for looking", run: func(w *world) error { return attachWith(must1(w.shared()), must1(w.tokens()).read) }},
	}
}

func ticketFor(s *server, token, what string) error {
	return s.post("/api/v1/sessions/"+s.session+"/tickets", map[string]any{"for": what}, bearer(token)...).wants("the ticket", http.StatusForbidden)
}

func attachWith(s *server, token string) error {
	for _, query := range []string{"mode=attach", "", "mode=attach&takeover=1"} {
		c, a := s.dial(s.session, query, bearer(token)...)
		if c != nil {
			c.close()
			return fmt.Errorf("%q opened a terminal: %s", query, a)
		}
		if err := a.wants(query, http.StatusForbidden); err != nil {
			return err
		}
	}
	return nil
}

// tokenEnds opens something with a token and ends the token.
func tokenEnds(w *world, how, what string) error {
	s := must1(w.heavy())
	name := "ends-" + how + "-" + what
	_, session := s.newTarget(name, "cat")
	token := s.token(name, "--scope", "full")
	c, a := s.dial(session, "mode=attach", bearer(token)...)
	if c == nil {
		return fmt.Errorf("%s", a)
	}
	defer c.close()
	events := s.stream("/api/v1/events", bearer(token))
	defer events.Close()
	s.ok("token", how, name)
	switch what {
	case "terminal":
		return c.closed(20 * time.Second)
	case "events":
		return ends(events, 20*time.Second)
	}
	return s.worksNot(bearer(token))
}

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// stream opens an answer that does not end.
func (s *server) stream(path string, headers []string) net.Conn {
	conn := must1(net.DialTimeout("tcp", s.at, patience))
	must(conn.SetDeadline(time.Now().Add(patience)))
	must1(io.WriteString(conn, request{method: "GET", path: path, headers: append(headers, "Connection: close")}.wire(s.addr)))
	status := must1(bufio.NewReader(conn).ReadString('\n'))
	if !strings.Contains(status, " 200 ") {
		must(fmt.Errorf("open %s: %s", path, status))
	}
	return conn
}

// ends reads until the server closes.
func ends(conn net.Conn, within time.Duration) error {
	must(conn.SetDeadline(time.Now().Add(within)))
	if _, err := io.Copy(io.Discard, conn); errors.Is(err, os.ErrDeadlineExceeded) {
		return fmt.Errorf("it is still open after %s", within)
	}
	return nil
}

func withTicket(s *server, ticket string, more ...string) []string {
	return append(more, "Origin: http://"+s.addr, "Sec-WebSocket-Protocol: middleman.v1, ticket."+ticket)
}

// ticketProbes is long because it is one table of probes.
func ticketProbes() []probe {
	const gain = "a terminal, with what a page or a history gave away"
	opens := func(s *server, session, query string, headers []string) error {
		c, a := s.dial(session, query, headers...)
		if c != nil {
			c.close()
			return fmt.Errorf("it opened a terminal: %s", a)
		}
		return a.refused("the ticket")
	}
	return []probe{
		{id: "ticket/control", title: "a ticket opens its terminal, and the answer names the protocol alone", control: true, gain: "nothing: it shows that the refusals below are refusals", run: ticketControl},
		{id: "ticket/twice", title: "a ticket that was used", gain: gain, run: func(w *world) error {
			s := must1(w.shared())
			ticket := s.ticket(s.auth(), s.session, "watch")
			c, a := s.dial(s.session, "mode=watch", withTicket(s, ticket)...)
			if c == nil {
				return fmt.Errorf("the first use: %s", a)
			}
			c.close()
			return opens(s, s.session, "mode=watch", withTicket(s, ticket))
		}},
		{id: "ticket/other-session", title: "a ticket of another session", gain: gain, run: func(w *world) error {
			s := must1(w.shared())
			_, other := s.newTarget("ticket-other", "cat")
			return opens(s, other, "mode=watch", withTicket(s, s.ticket(s.auth(), s.session, "watch")))
		}},
		{id: "ticket/watch-attaches", title: "a ticket for watching, to attach", gain: "typing, with a ticket for looking", run: func(w *world) error {
			s := must1(w.shared())
			return opens(s, s.session, "mode=attach", withTicket(s, s.ticket(s.auth(), s.session, "watch")))
		}},
		{id: "ticket/download-attaches", title: "a ticket for a download, to attach", gain: "typing, with the address of a download", run: func(w *world) error {
			s := must1(w.shared())
			return opens(s, s.session, "mode=attach", withTicket(s, s.ticket(s.auth(), s.session, "recording")))
		}},
		{id: "ticket/foreign-origin", title: "a ticket at a page of another site", gain: gain, run: func(w *world) error {
			s := must1(w.shared())
			return opens(s, s.session, "mode=watch", []string{"Origin: http://evil.example", "Sec-WebSocket-Protocol: middleman.v1, ticket." + s.ticket(s.auth(), s.session, "watch")})
		}},
		{id: "ticket/other-server", title: "a ticket of another server", gain: gain, run: func(w *world) error {
			s, other := must1(w.shared()), must1(w.heavy())
			return opens(s, s.session, "mode=watch", withTicket(s, other.ticket(other.auth(), other.session, "watch")))
		}},
		{id: "ticket/access-token", title: "an access token as ticket", gain: "a credential for all of it, where histories and logs look", run: func(w *world) error {
			s := must1(w.shared())
			return opens(s, s.session, "mode=watch", withTicket(s, strings.TrimPrefix(s.auth()[0], "Authorization: Bearer ")))
		}},
		{id: "ticket/as-bearer", title: "a ticket as bearer token", gain: "all of the API, with a ticket for one thing", run: func(w *world) error {
			s := must1(w.shared())
			return s.worksNot(bearer(s.ticket(s.auth(), s.session, "attach")))
		}},
		{id: "ticket/query-other", title: "a ticket for a download on another path", gain: "another answer, with the address of a download", run: func(w *world) error {
			s := must1(w.shared())
			ticket := s.ticket(s.auth(), s.session, "recording")
			return s.page("/api/v1/sessions/"+s.session+"/output?ticket="+ticket).wants("the output", http.StatusUnauthorized)
		}},
		{id: "ticket/query-twice", title: "the address of a download, used again", gain: "a download for who reads the history", run: func(w *world) error {
			s := must1(w.shared())
			path := "/api/v1/sessions/" + s.session + "/recording?ticket=" + s.ticket(s.auth(), s.session, "recording")
			if err := s.page(path).wants("the first use", http.StatusOK); err != nil {
				return err
			}
			return s.page(path).wants("the second use", http.StatusUnauthorized)
		}},
		{id: "ticket/post", title: "a ticket in the query of a change", gain: "a change by a link", run: func(w *world) error {
			s := must1(w.shared())
			ticket := s.ticket(s.auth(), s.session, "attach")
			return s.post("/api/v1/sessions/"+s.session+"/input?ticket="+ticket, "id").wants("the input", http.StatusUnauthorized)
		}},
		{id: "ticket/old", title: "a ticket after 35 seconds", gain: gain, slow: true, run: func(w *world) error {
			s := must1(w.heavy())
			ticket := s.ticket(s.login(), s.session, "watch")
			time.Sleep(35 * time.Second) // what is probed is the time
			return opens(s, s.session, "mode=watch", withTicket(s, ticket))
		}},
	}
}

func ticketControl(w *world) error {
	s := must1(w.shared())
	c, a := s.dial(s.session, "mode=watch", withTicket(s, s.ticket(s.auth(), s.session, "watch"))...)
	if c == nil {
		return fmt.Errorf("%s", a)
	}
	c.close()
	if got := a.header.Get("Sec-WebSocket-Protocol"); strings.Contains(got, "ticket") {
		return fmt.Errorf("the answer repeats the ticket: %q", got)
	}
	return nil
}
