//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"
)

// operation is one of the API's, and what anybody who could use it would gain.
// {w} and {s} stand for the workspace and the session that there are.
type operation struct {
	method, path, body, gain string
}

var operations = slices.Concat(local, onRuntime())

// onRuntime are the operations that a hub passes on to another machine, where what
// they gain is the same.
func onRuntime() (all []operation) {
	never := []string{
		"/backends", "/events", "/login", "/logins", "/logout", "/overview", "/push-subscription", "/server", "/tokens",
		"/openapi", "/runtimes", "/report", "POST /sessions/{s}/approvals",
	}
	for _, o := range local {
		if slices.ContainsFunc(never, func(part string) bool { return strings.Contains(o.method+" "+o.path, part) }) {
			continue
		}
		o.path = "/runtimes/{r}" + o.path
		o.gain += ", on another machine"
		all = append(all, o)
	}
	return all
}

var local = []operation{
	{"GET", "/runtimes", "", "which other machines the user works on"},
	{"POST", "/runtimes", `{"name":"evil","address":"ssh://evil.example"}`, "a machine of the attacker's choice that the user takes for his own"},
	{"DELETE", "/runtimes/{r}", "", "the way to the user's other machines lost"},
	{"POST", "/runtimes/{r}/check", "", "a connection to another machine with the user's keys"},
	{"GET", "/approvals", "", "what agents ask, with the commands and the text of edits"},
	{"GET", "/approvals/{a}", "", "what an agent asked, with the text of its edit"},
	{"POST", "/approvals/{a}", `{"decision":"allow"}`, "a command of an agent's run without the user's consent"},
	{"GET", "/sessions/{s}/approvals", "", "what the agent of a session asks"},
	{"POST", "/sessions/{s}/approvals", `{"id":"a0123456789abcdef","agent":"claude","tool":"Bash","arguments":"{}","directory":"/"}`, "questions that the user takes for those of an agent"},
	{"GET", "/backends", "", "which programs are installed, to choose a hole by"},
	{"GET", "/bundles", "", "which programs a team launches, and what these may do"},
	{"POST", "/bundles", `{"schema":1,"id":"evil","revision":1,"created":"2026-01-01T00:00:00Z","profiles":{"a":{"command":["id"]}}}`, "profiles of the attacker's choice"},
	{"GET", "/bundles/{b}", "", "the content of a bundle"},
	{"DELETE", "/bundles/{b}", "", "a bundle that launches need"},
	{"GET", "/bundles/{b}/availability?digest=0", "", "which bundles there are"},
	{"GET", "/config?directory=/", "", "the user's settings and directories"},
	{"GET", "/events", "", "everything that happens in all workspaces, as it happens"},
	{"POST", "/import", `{"paths":["/"]}`, "workspaces made of directories of the attacker's choice"},
	{"POST", "/login-links", "{}", "a login link, hence a shell"},
	{"POST", "/logout", "", "the end of somebody's login"},
	{"GET", "/overview", "", "all workspaces and sessions of all the user's machines"},
	{"POST", "/prune", "{}", "the removal of what is left over"},
	{"GET", "/profiles", "", "which agents are installed, and where"},
	{"GET", "/push-subscription", "", "where a browser is notified"},
	{"PUT", "/push-subscription", `{"endpoint":"https://push.example/","key":"","auth":""}`, "what agents do, told to the attacker for good"},
	{"DELETE", "/push-subscription", "", "a user who is not told that an agent waits"},
	{"GET", "/transcripts", "", "the names of sessions of deleted workspaces"},
	{"DELETE", "/transcripts", "", "the removal of the output of deleted sessions"},
	{"POST", "/repair", "{}", "records that lead to other directories"},
	{"GET", "/server", "", "the server's process, and what is wrong with its settings"},
	{"POST", "/server/restart", "", "a server that is never there for long"},
	{"POST", "/server/stop", "", "the end of the server"},
	{"GET", "/search?text=a", "", "what all sessions have printed"},
	{"GET", "/sessions", "", "commands and directories of all sessions"},
	{"DELETE", "/sessions/{s}", "", "the end of a running program"},
	{"GET", "/sessions/{s}", "", "the command and state of a session"},
	{"GET", "/sessions/{s}/capture", "", "what is on the user's screen"},
	{"POST", "/sessions/{s}/prompt", `{"text":"id"}`, "a text submitted to the user's coding agent"},
	{"POST", "/sessions/{s}/input", "typed-without-login\n", "a command typed into the user's shell"},
	{"GET", "/sessions/{s}/output", "", "everything that a session has printed"},
	{"GET", "/sessions/{s}/recording", "", "a film of the user's terminal"},
	{"GET", "/sessions/{s}/status", "", "what is on the user's screen"},
	{"POST", "/sessions/{s}/report", `{"agent":"claude","event":"Stop","at":"2026-01-01T00:00:00Z","state":"idle"}`, "a lie about what an agent does"},
	{"POST", "/sessions/{s}/resume", `{}`, "an agent, started again in a workspace of the user's"},
	{"POST", "/sessions/{s}/rename", `{"name":"x"}`, "a session that the user does not find, or takes for another"},
	{"GET", "/sessions/{s}/terminal", "", "the terminal itself"},
	{"GET", "/sessions/{s}/wait?text=x&timeout=1s", "", "an oracle of what the screen shows"},
	{"GET", "/sessions/{s}/workers", "", "which agents work"},
	{"POST", "/sessions/{s}/workers", `{"command":["id"]}`, "a program of the attacker's choice in the user's directory"},
	{"DELETE", "/trust", `{"repository":"/","hash":"x"}`, "consent that the user gave taken away"},
	{"GET", "/trust", "", "which repositories the user trusts"},
	{"POST", "/trust", `{"repository":"/","hash":"x"}`, "commands of a hostile repository made trusted"},
	{"GET", "/version", "", "the exact build, to choose a hole by"},
	{"GET", "/workers", "", "all agents, their branches and directories"},
	{"GET", "/workspaces", "", "names and paths of the user's work"},
	{"POST", "/workspaces", `{"mode":"directory","session":{"command":["id"]}}`, "a program of the attacker's choice, as the user"},
	{"DELETE", "/workspaces/{w}", "", "the user's work deleted"},
	{"GET", "/workspaces/{w}", "", "paths and branch of a workspace"},
	{"GET", "/workspaces/{w}/commits", "", "the user's unpublished commits"},
	{"GET", "/workspaces/{w}/conflicts", "", "what other workspaces change"},
	{"GET", "/workspaces/{w}/diff", "", "the user's unpublished source"},
	{"GET", "/workspaces/{w}/events", "", "each stage of a creation, its output included"},
	{"POST", "/workspaces/{w}/push", "{}", "private work sent to a remote, with the user's keys"},
	{"POST", "/workspaces/{w}/merge", "{}", "commits of a session put on the user's branch"},
	{"POST", "/workspaces/{w}/rename", `{"name":"x"}`, "a workspace that the user does not find, or takes for another"},
	{"POST", "/workspaces/{w}/restore", "{}", "a deleted workspace brought back over the user's will"},
	{"POST", "/workspaces/{w}/retry", "{}", "a setup run again"},
	{"GET", "/workspaces/{w}/profiles", "", "which agents are installed, and where"},
	{"GET", "/workspaces/{w}/sessions", "", "the sessions of a workspace"},
	{"POST", "/workspaces/{w}/sessions", `{"command":["id"]}`, "a program of the attacker's choice, as the user"},
	{"GET", "/workspaces/{w}/setup-log", "", "what setup printed, secrets included"},
	{"POST", "/workspaces/{w}/sandbox/import", "", "commits of sandboxed programs brought into the repository"},
	{"GET", "/workspaces/{w}/trust", "", "the configuration that waits for consent"},
	{"POST", "/workspaces/{w}/trust", `{"hash":"x"}`, "commands of a hostile repository run"},
	{"GET", "/logins", "", "which browsers are logged in, and from where"},
	{"DELETE", "/logins", "", "everybody logged out"},
	{"DELETE", "/logins/{l}", "", "somebody logged out"},
	{"POST", "/sessions/{s}/tickets", `{"for":"attach"}`, "a ticket for the terminal"},
	{"POST", "/tokens", `{"name":"planted","scope":"full"}`, "a token of the attacker's own, for good"},
	{"GET", "/tokens", "", "which tokens there are"},
	{"DELETE", "/tokens/{t}", "", "the user's programs locked out"},
	{"POST", "/tokens/{t}/rotate", "{}", "the secret of somebody else's token"},
	{"GET", "/openapi.json", "", "the whole API, its version and its words"},
}

// open are the operations that anybody may use: they tell nothing, or take a
// proof of their own, which the area login attacks.
var open = []string{"GET /health", "POST /login", "POST /login/challenge", "POST /login/access"}

// at is the operation's request on a server.
func (o operation) at(s *server, headers ...string) request {
	path := strings.NewReplacer("{w}", s.workspace, "{s}", s.session, "{l}", "l0000000000000000", "{t}", "planted", "{a}", "a0123456789abcdef", "{b}", "nothing", "{r}", "box").Replace(o.path)
	if o.body != "" {
		headers = append([]string{"Content-Type: application/json"}, headers...)
	}
	return request{method: o.method, path: "/api/v1" + path, headers: headers, body: o.body}
}

func (o operation) slug() string {
	path, _, _ := strings.Cut(o.path, "?")
	return strings.ToLower(o.method) + strings.NewReplacer("/{w}", "/W", "/{s}", "/S", "/{l}", "/L", "/{t}", "/T", "/{a}", "/A", "/{b}", "/B", "/{r}", "/R", "/", "-").Replace(path)
}

func httpProbes() []probe {
	probes := []probe{
		{id: "control-login", title: "the operations that look work with a login", control: true, run: looksWork,
			gain: "nothing: it shows that the refusals below are refusals"},
		{id: "control-complete", title: "every operation of openapi.json is attacked here", control: true, run: allListed,
			gain: "nothing: it shows that no operation was forgotten"},
	}
	for _, o := range operations {
		probes = append(probes, probe{id: "none/" + o.slug(), title: o.method + " " + o.path + " without credentials", gain: o.gain,
			run: func(w *world) error {
				s := must1(w.shared())
				return s.send(o.at(s)).wants("without credentials", http.StatusUnauthorized)
			}})
	}
	for _, c := range wrongCredentials {
		probes = append(probes, probe{id: "wrong/" + c.name, title: "every operation with " + c.title, gain: c.gain,
			run: func(w *world) error { return everywhere(must1(w.shared()), c) }})
	}
	return append(probes, probe{id: "after", title: "none of it stopped, typed or made anything", run: nothingHappened,
		gain: "an effect of a request that was answered with a refusal"})
}

// looksWork shows that the table's requests are good ones.
func looksWork(w *world) error {
	s := must1(w.shared())
	auth := s.auth()
	for _, o := range operations {
		if o.method != "GET" || strings.HasSuffix(o.path, "/terminal") {
			continue
		}
		// The workspace is no worktree, for which some looks at it are refused.
		if err := s.send(o.at(s, auth...)).wants(o.path+" with a login", http.StatusOK, http.StatusNotFound, http.StatusUnprocessableEntity, http.StatusConflict); err != nil {
			return err
		}
	}
	return nil
}

func allListed(w *world) error {
	s := must1(w.shared())
	a := s.local("GET", "/api/v1/openapi.json", "")
	var doc struct {
		Paths map[string]map[string]struct{}
	}
	must(json.Unmarshal([]byte(a.body), &doc))
	var missing []string
	for path, methods := range doc.Paths {
		for method := range methods {
			if name := strings.ToUpper(method) + " " + path; !slices.Contains(open, name) && !listed(name) {
				missing = append(missing, name)
			}
		}
	}
	if sort.Strings(missing); len(missing) > 0 || len(doc.Paths) < 20 {
		return fmt.Errorf("of %d paths these operations are not in the table `operations`: %s", len(doc.Paths), strings.Join(missing, ", "))
	}
	return nil
}

// listed says whether an operation of the document is in the table.
func listed(name string) bool {
	return slices.ContainsFunc(operations, func(o operation) bool {
		path, _, _ := strings.Cut(o.path, "?")
		return name == o.method+" "+strings.NewReplacer("{w}", "{workspace}", "{s}", "{session}", "{l}", "{login}", "{t}", "{token}", "{a}", "{approval}", "{b}", "{bundle}", "{r}", "{runtime}").Replace(path)
	})
}

// wrongCredential is one that must not count anywhere.
type wrongCredential struct {
	name, title, gain string
	headers           func(s *server) []string
	query             func(s *server) string
}

func constantly(lines ...string) func(*server) []string {
	return func(*server) []string { return lines }
}

const asGain = "all that the operations give, with a credential that anybody can make up"

var wrongCredentials = []wrongCredential{
	{name: "empty-bearer", title: "an empty bearer token", gain: asGain, headers: constantly("Authorization: Bearer ")},
	{name: "bare-bearer", title: "the word Bearer alone", gain: asGain, headers: constantly("Authorization: Bearer")},
	{name: "empty-authorization", title: "an empty Authorization", gain: asGain, headers: constantly("Authorization:")},
	{name: "null-bearer", title: "the token null", gain: asGain, headers: constantly("Authorization: Bearer null")},
	{name: "wildcard-bearer", title: "the token %, a wildcard of SQL", gain: asGain, headers: constantly("Authorization: Bearer %")},
	{name: "injected-bearer", title: "a token that is SQL", gain: asGain, headers: constantly("Authorization: Bearer ' OR '1'='1")},
	{name: "long-bearer", title: "a token of 40 KB", gain: asGain, headers: constantly("Authorization: Bearer " + strings.Repeat("A", 40<<10))},
	{name: "random-bearer", title: "a token of the right form", gain: asGain, headers: constantly("Authorization: Bearer " + strings.Repeat("A", 26))},
	{name: "session-as-bearer", title: "a session's id as token", gain: "all that the operations give, to everybody who has seen an id",
		headers: func(s *server) []string { return []string{"Authorization: Bearer " + s.session} }},
	{name: "basic", title: "basic authorization as admin", gain: asGain, headers: constantly("Authorization: Basic YWRtaW46YWRtaW4=")},
	{name: "basic-empty", title: "empty basic authorization", gain: asGain, headers: constantly("Authorization: Basic Og==")},
	{name: "negotiate", title: "the scheme Negotiate", gain: asGain, headers: constantly("Authorization: Negotiate AAAA")},
	{name: "cookie-garbage", title: "cookies of all names that were ever ours", gain: "a login without a key, by a cookie that any port can plant",
		headers: func(s *server) []string {
			return []string{"Cookie: middleman=x; middleman_=x; middleman_" + s.instance() + "=x; session=x; token=x"}
		}},
	{name: "cookie-link", title: "a fresh login link's token as cookie", gain: "a login by a cookie that any port can plant and read",
		headers: func(s *server) []string {
			t := linkToken(s.newLink())
			return []string{"Cookie: middleman_" + s.instance() + "=" + t + "; middleman=" + t + "; token=" + t}
		}},
	{name: "link-as-bearer", title: "a fresh login link's token as bearer token", gain: "a login that leaves the link unspent, so that nobody notices",
		headers: func(s *server) []string { return []string{"Authorization: Bearer " + linkToken(s.newLink())} }},
	{name: "forwarded", title: "headers of a proxy that vouch for the caller", gain: "a login by saying that one has one",
		headers: constantly("X-Forwarded-User: root", "X-Remote-User: root", "Remote-User: root", "X-Forwarded-For: 127.0.0.1", "X-Real-IP: 127.0.0.1", "Forwarded: for=127.0.0.1;by=unix", "X-Forwarded-Proto: unix")},
	{name: "query-token", title: "a token in the query", gain: "a login that lies in histories and logs",
		query: func(s *server) string {
			t := linkToken(s.newLink())
			return "token=" + t + "&access_token=" + t + "&ticket=" + t
		}},
	{name: "peer-headers", title: "headers that name a peer of the Unix socket", gain: "the Unix socket's rights over TCP",
		headers: constantly("X-Middleman-Uid: 0", "Middleman-Peer: 0", "X-Peer-Uid: 0", "X-Socket: unix")},
}

// linkToken is the secret of a login link, in its query or its fragment.
func linkToken(link string) string {
	_, token, _ := strings.Cut(link, "=")
	return token
}

// everywhere sends every operation with a wrong credential.
func everywhere(s *server, c wrongCredential) error {
	var headers []string
	if c.headers != nil {
		headers = c.headers(s)
	}
	for _, o := range operations {
		r := o.at(s, headers...)
		if c.query != nil {
			sep := "?"
			if strings.Contains(r.path, "?") {
				sep = "&"
			}
			r.path += sep + c.query(s)
		}
		a := s.send(r)
		if a.status == http.StatusTooManyRequests {
			continue // refused too; that it locks nobody else out is for the area login
		}
		if err := a.wants(o.method+" "+o.path, http.StatusUnauthorized); err != nil {
			return err
		}
	}
	return nil
}

// nothingHappened compares the server with what it was made as.
func nothingHappened(w *world) error {
	s := must1(w.shared())
	if err := s.alive(); err != nil {
		return err
	}
	if a := s.local("GET", "/api/v1/sessions/"+s.session+"/output", ""); strings.Contains(a.body, "typed-without-login") {
		return fmt.Errorf("something was typed: %s", a)
	}
	return nil
}
