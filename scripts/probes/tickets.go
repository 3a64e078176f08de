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

func marshal(v any) ([]byte, error) { return json.Marshal(v) }

// stream opens an answer that does not end.
func (s *server) stream(path string, headers []string) net.Conn {
	conn := must1(net.DialTimeout("tcp", s.addr, patience))
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
