//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// idProbes: a server of our own user's, taken over, answers with ids that lead
// out of the state directory, to a session whose tmux is the canary.
func idProbes() []probe {
	probes := []probe{{id: "id/control", title: "the server in between passes on what it is asked", control: true,
		gain: "nothing: it shows that the ids below reach the command line", run: func(w *world) error {
			o, err := askBetween(w, must1(w.shared()).session, "ls", "--sessions", "--json")
			if err != nil || o.code != 0 || !strings.Contains(o.stdout, `"running"`) {
				return fmt.Errorf("%s %w", o, err)
			}
			return nil
		}}}
	for _, x := range []struct{ name, id string }{
		{"dot-dot", "../../planted"}, {"more", "../../../../../../../../../../PLANTED"}, {"absolute", "PLANTED"}, {"inner", "sey2eg8ghn0xbb3tz/../../../planted"},
		{"backslash", `..\\..\\planted`}, {"empty", ""}, {"dot", "."}, {"parent", ".."}, {"nul", `s\u0000`}, {"escape", `s\u001b]0;owned\u0007`}, {"option", "--help"}, {"long", strings.Repeat("s", 5000)},
	} {
		probes = append(probes, probe{id: "id/" + x.name, title: "a session id " + cut(x.id, 40) + " from our own server", gain: "a planted program run, or a file outside read, by a name",
			run: func(w *world) error { return hostileID(w, x.id) }})
	}
	return probes
}

// askBetween runs a command whose server is another one's, with the session's
// id replaced in all answers.
func askBetween(w *world, id string, args ...string) (output, error) {
	s := must1(w.shared())
	home := w.place()
	for _, dir := range []string{"data", "run", "data/sessions", "planted"} {
		must(os.Mkdir(filepath.Join(home, dir), 0o700))
	}
	c := w.newCanary()
	planted := filepath.Join(home, "planted")
	c.plantSession(planted, filepath.Join(home, "run", "tmux.sock"))
	must(os.Chmod(filepath.Join(planted, "tmux.json"), 0o600))
	defer lock(filepath.Join(planted, "session.lock"))()
	id = strings.ReplaceAll(id, "PLANTED", planted)
	socket := filepath.Join(home, "run", "middleman.sock")
	l := must1(net.Listen("unix", socket))
	must(os.Chmod(socket, 0o600))
	between := &http.Server{Handler: between(s, id)}
	go between.Serve(l) // ends with Close
	defer between.Close()
	must(os.WriteFile(filepath.Join(home, "run", "serve.json"), fmt.Appendf(nil, `{"address":%q,"socket":%q,"pid":%d,"version":"x"}`, s.addr, socket, os.Getpid()), 0o600))
	asked := &server{w: w, home: home, env: w.environ(home)}
	o := collectWithin(asked.command(args...), 20*time.Second)
	return o, c.sang("middleman " + strings.Join(args, " "))
}

// between passes requests on and replaces the session's id in what comes back.
func between(s *server, id string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		a := s.local(r.Method, r.URL.RequestURI(), string(body))
		answer := bytes.ReplaceAll([]byte(a.body), []byte(`"`+s.session+`"`), []byte(`"`+id+`"`))
		answer = bytes.ReplaceAll(answer, []byte(`"pty-owner"`), []byte(`"tmux"`))
		w.Header().Set("Content-Type", a.header.Get("Content-Type"))
		w.WriteHeader(max(a.status, 200))
		_, _ = w.Write(answer) // the command line may have left
	})
}

func hostileID(w *world, id string) error {
	for _, args := range [][]string{{"ls", "--sessions"}, {"capture", "target"}, {"send", "target", "secret"}, {"logs", "target"}} {
		o, err := askBetween(w, id, args...)
		if err != nil {
			return fmt.Errorf("%w: %s", err, o)
		}
		if args[0] != "ls" && o.code == 0 {
			return fmt.Errorf("middleman %s believed it: %s", args[0], o)
		}
		if strings.ContainsAny(o.all(), "\x1b\x07\x00") {
			return fmt.Errorf("middleman %s printed an escape: %s", args[0], o)
		}
	}
	return must1(w.shared()).alive()
}
