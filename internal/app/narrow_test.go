package app

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"middleman/internal/api"
	"middleman/internal/store"
	"middleman/terminal"
)

// narrowed is one decision: what a session asks for in a field, and what it gets.
type narrowed struct {
	name    string
	in      func(*api.NewWorker)
	parent  rules
	want    func(api.NewWorker) any // of the narrowed request
	is      any
	refused string
}

func keepOf(w api.NewWorker) any { return *w.Session.KeepOutput }
func clipOf(w api.NewWorker) any { return w.Session.Clipboard }
func keep(n int64) func(*api.NewWorker) {
	return func(w *api.NewWorker) { w.Session.KeepOutput = &n }
}
func clip(c terminal.Clipboard) func(*api.NewWorker) {
	return func(w *api.NewWorker) { w.Session.Clipboard = c }
}

// decisions has each field of a request for a worker. A field that narrow leaves alone
// says why that gives a worker no more than its parent has.
var decisions = map[string]struct {
	why   string
	cases []narrowed
}{
	"Name":      {why: "a name of a workspace or a session"},
	"Suffix":    {why: "about the name"},
	"Isolation": {why: "both kinds lie in the parent's scope: TestWorkerLeavesScope"},
	"Directory": {why: "planSpawn checks that it is in the parent's scope: TestWorkerLeavesScope"},
	"Session":   {why: "its fields follow"},

	"Session.Name": {cases: []narrowed{
		{name: "another name", in: func(w *api.NewWorker) { w.Session.Name = "x" }, refused: "not in session.name"},
		{name: "shared", in: func(w *api.NewWorker) { w.Name, w.Isolation = "x", string(store.IsolationShared) }, want: func(w api.NewWorker) any { return w.Session.Name }, is: "x"},
	}},
	"Session.Command":      {why: "it runs where the parent could run it, in a sandbox that is no weaker; checkGrant says whether it may"},
	"Session.Profile":      {why: "checkGrant, and in the sandbox it opens nothing that is closed to the parent: TestWhoseProfileOpens"},
	"Session.Bundle":       {why: "checkBundleGrant, and policy.toml decides at each launch"},
	"Session.Capabilities": {why: "they narrow what the bundle asks for"},
	"Session.Restarts":     {why: "startSession alone reads it, by which no worker starts"},
	"Session.Prompt":       {why: "an argument of the command"},
	"Session.Backend":      {why: "every host has the same rules: backendtest"},
	"Session.Sandbox":      {why: "chooseBox takes the stronger level: sandbox.txtar"},
	"Session.Network":      {why: "chooseNetwork takes hosts of the parent's list alone: TestChooseNetwork"},
	"Session.Size":         {why: "plan bounds it for every session"},
	"Session.Env":          {why: "values that the parent has; those that loaders read stay in the sandbox: TestLoadersVariables"},
	"Session.CleanEnv": {cases: []narrowed{
		{name: "the whole environment", in: func(w *api.NewWorker) { w.Session.CleanEnv = false }, want: func(w api.NewWorker) any { return w.Session.CleanEnv }, is: true},
	}},
	"Session.CallerEnv": {cases: []narrowed{
		{name: "the login, in a sandbox", parent: rules{sandboxed: true}, want: func(w api.NewWorker) any { return w.Session.CallerEnv != nil && len(w.Session.CallerEnv) == 0 }, is: true},
		{name: "the login, without one", want: func(w api.NewWorker) any { return w.Session.CallerEnv == nil }, is: true},
	}},
	"Session.AgentLink": {cases: []narrowed{
		{name: "the user's keys, in a sandbox", parent: rules{sandboxed: true}, in: func(w *api.NewWorker) { w.Session.AgentLink = true }, want: func(w api.NewWorker) any { return w.Session.AgentLink }, is: false},
		{name: "without one", in: func(w *api.NewWorker) { w.Session.AgentLink = true }, want: func(w api.NewWorker) any { return w.Session.AgentLink }, is: true},
	}},
	"Session.KeepOutput": {cases: []narrowed{
		{name: "all", in: keep(0), parent: rules{keep: 4096}, want: keepOf, is: int64(4096)},
		{name: "more", in: keep(4097), parent: rules{keep: 4096}, want: keepOf, is: int64(4096)},
		{name: "less", in: keep(100), parent: rules{keep: 4096}, want: keepOf, is: int64(100)},
		{name: "what is usual is more", parent: rules{keep: 100}, want: keepOf, is: int64(100)},
		{name: "what is usual is less", parent: rules{keep: 1 << 40}, want: keepOf, is: int64(1000)},
		{name: "all, as the parent", in: keep(0), want: keepOf, is: int64(0)},
		{name: "nonsense is left to plan", in: keep(-1), parent: rules{keep: 4096}, want: keepOf, is: int64(-1)},
	}},
	"Session.Clipboard": {cases: []narrowed{
		{name: "allow", in: clip("allow"), parent: rules{clipboard: "deny"}, want: clipOf, is: terminal.ClipboardDeny},
		{name: "allow after ask", in: clip("allow"), parent: rules{clipboard: "ask"}, want: clipOf, is: terminal.ClipboardAsk},
		{name: "ask after deny", in: clip("ask"), parent: rules{clipboard: "deny"}, want: clipOf, is: terminal.ClipboardDeny},
		{name: "deny", in: clip("deny"), parent: rules{clipboard: "allow"}, want: clipOf, is: terminal.ClipboardDeny},
		{name: "what is usual is weaker", parent: rules{clipboard: "deny"}, want: clipOf, is: terminal.ClipboardDeny},
		{name: "what is usual is stricter", parent: rules{clipboard: "allow"}, want: clipOf, is: terminal.ClipboardAsk},
		{name: "a parent of an earlier build", in: clip("allow"), want: clipOf, is: terminal.ClipboardAllow},
		{name: "a rule of a later build", in: clip("allow"), parent: rules{clipboard: "later"}, want: clipOf, is: terminal.ClipboardDeny},
		{name: "nonsense is left to plan", in: clip("x"), parent: rules{clipboard: "deny"}, want: clipOf, is: terminal.Clipboard("x")},
	}},
}

// A worker has nowhere weaker rules than the session that starts it. A field that is
// new in api.NewWorker or api.NewSession fails this test until it is decided here.
func TestNarrow(t *testing.T) {
	var fields []string
	for _, of := range []struct {
		prefix string
		kind   reflect.Type
	}{{"", reflect.TypeFor[api.NewWorker]()}, {"Session.", reflect.TypeFor[api.NewSession]()}} {
		for i := range of.kind.NumField() {
			fields = append(fields, of.prefix+of.kind.Field(i).Name)
		}
	}
	for _, name := range fields {
		if d, ok := decisions[name]; !ok || (d.why == "") == (len(d.cases) == 0) {
			t.Errorf("nobody has decided what a worker gets of %s, which a program in a sandbox sends", name)
		}
	}
	for name, d := range decisions {
		if !slices.Contains(fields, name) {
			t.Errorf("there is no field %s", name)
		}
		for _, c := range d.cases {
			t.Run(name+"/"+c.name, func(t *testing.T) { c.check(t) })
		}
	}
}

func (c narrowed) check(t *testing.T) {
	var in api.NewWorker
	if c.in != nil {
		c.in(&in)
	}
	got, err := narrow(in, c.parent, rules{clipboard: terminal.ClipboardAsk, keep: 1000})
	if c.refused != "" {
		if err == nil || !strings.Contains(err.Error(), c.refused) {
			t.Errorf("error %v, want %q", err, c.refused)
		}
		return
	}
	if err != nil || c.want(got) != c.is {
		t.Errorf("got %v, %v, want %v", c.want(got), err, c.is)
	}
}
