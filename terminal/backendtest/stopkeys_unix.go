//go:build unix

package backendtest

import (
	"fmt"
	"strings"
	"time"

	"middleman/terminal"
)

// testStopKeys: a stop types the program's keys first, where they mean its end, and
// nothing elsewhere; signals follow in any case, within the grace.
func testStopKeys(f *fixture) {
	keys := func(never ...terminal.Sight) terminal.StopKeys {
		return terminal.StopKeys{Keys: [][]byte{{3}, {4}}, Never: never}
	}
	asks := terminal.Sight{Screen: []string{`^ALLOW\?`}, Rows: 3}
	const got = `stty raw -echo; printf PROMPT; head -c 1 >/dev/null; printf 'once more'; head -c 1 >/dev/null; printf GOT-TWO; exit 7`
	for _, tt := range []struct {
		name, script, ready string
		keys                terminal.StopKeys
		grace               time.Duration
		code                int // -1 for a signal
		has, hasNot         string
	}{
		{"its own end", got, "PROMPT", keys(asks), patience, 7, "GOT-TWO", ""},
		{"no grace", got, "PROMPT", keys(), -1, -1, "", "once more"},
		{"at a dialog", strings.Replace(got, "PROMPT", "ALLOW?", 1), "ALLOW?", keys(asks), time.Second, -1, "", "once more"},
		{"at a dialog, by its title", `printf '\033]2;Action Required\007'; ` + got, "PROMPT", keys(terminal.Sight{Title: "Required"}), time.Second, -1, "", "once more"},
		{"a dialog after the first key", strings.Replace(got, "once more", `\r\nALLOW?`, 1), "PROMPT", keys(asks), time.Second, -1, "ALLOW?", "GOT-TWO"},
		{"one that does not read", `stty raw -echo; printf PROMPT; sleep 1000`, "PROMPT", keys(), time.Second, -1, "", ""},
		{"one that ignores them", `stty raw -echo; printf PROMPT; while head -c 1 >/dev/null; do printf k; done`, "PROMPT", keys(), time.Second, -1, "kk", ""},
		{"one that prints without a pause", `stty raw -echo; printf PROMPT; while :; do printf '\rline of work'; done`, "PROMPT", keys(), time.Second, -1, "", ""},
		{"a rule that is not valid", got, "PROMPT", keys(terminal.Sight{Title: "("}), time.Second, -1, "", "once more"},
	} {
		f.within3(tt.name, func() error {
			spec := f.spec(f.path("sh"), "-c", tt.script)
			spec.StopKeys = tt.keys
			s := f.start(spec)
			f.printed(s, tt.ready)
			began := time.Now()
			f.ok(s.Stop(f.ctx, tt.grace))
			took := time.Since(began)
			st := f.ended(s)
			out := string(f.output(s, 0))
			switch {
			case tt.code >= 0 && st.Exit.Code != tt.code, tt.code < 0 && st.Exit.Signal == 0:
				return fmt.Errorf("exit %+v, want code %d; output %q", st.Exit, tt.code, out)
			case !strings.Contains(out, tt.has), tt.hasNot != "" && strings.Contains(out, tt.hasNot):
				return fmt.Errorf("output %q", out)
			case took > max(tt.grace, 0)+patience/2:
				return fmt.Errorf("it took %s", took)
			}
			return nil
		})
	}
}

// within3 reports an error of try only if it has one each of three times: on a busy
// machine a program may be slower than the time that its keys and its grace give it.
func (f *fixture) within3(what string, try func() error) {
	f.Helper()
	var err error
	for range 3 {
		if err = try(); err == nil {
			return
		}
		f.Logf("%s: %v", what, err)
	}
	f.Errorf("%s: %v", what, err)
}

// testStopKeysJob: nothing is typed at another job that has the terminal.
func testStopKeysJob(f *fixture) {
	spec := f.spec(f.path("bash"), "--norc", "-ic", `sh -c 'stty raw -echo; printf READY; head -c 1 >/dev/null; printf GOT; sleep 1000'; exit 5`)
	spec.StopKeys = terminal.StopKeys{Keys: [][]byte{{3}}}
	s := f.start(spec)
	f.printed(s, "READY")
	f.ok(s.Stop(f.ctx, time.Second))
	f.ended(s)
	if out := string(f.output(s, 0)); strings.Contains(out, "GOT") {
		f.Errorf("a key was typed at the job: %q", out)
	}
}

// testStopTwice: two stops at once type the keys once.
func testStopTwice(f *fixture) {
	f.within3("two stops", func() error {
		spec := f.spec(f.path("sh"), "-c", `stty raw -echo; trap '' HUP TERM; printf PROMPT; while head -c 1 >/dev/null; do printf k; done`)
		spec.StopKeys = terminal.StopKeys{Keys: [][]byte{{3}}}
		s := f.start(spec)
		f.printed(s, "PROMPT")
		stopped := make(chan error)
		for range 2 {
			go func() { stopped <- s.Stop(f.ctx, time.Second) }()
		}
		f.ok(<-stopped)
		f.ok(<-stopped)
		f.ended(s)
		out := string(f.output(s, 0))
		if strings.Count(out, "k") > 1 {
			f.Errorf("output %q, want one key", out)
		}
		if !strings.Contains(out, "k") {
			return fmt.Errorf("output %q, want one key", out)
		}
		return nil
	})
}
