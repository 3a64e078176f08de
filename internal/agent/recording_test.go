package agent

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// at0 is a moment of a recording.
func at0(seconds float64) time.Time { return at.Add(time.Duration(seconds * float64(time.Second))) }

// life records what a stand-in for Claude Code shows, and what a user says of it.
func life(t *testing.T, marks map[float64]string) []byte {
	t.Helper()
	var out bytes.Buffer
	r := NewRecorder(&out, Recorded{Profile: "claude", Program: "2.1.240 (Claude Code)"}, 80, 24, at)
	show := func(seconds float64, title, screen string) {
		text := "\x1b]0;" + title + "\a\x1b[2J\x1b[H" + strings.ReplaceAll(screen, "\n", "\r\n")
		for i := range len(text) { // output comes in any pieces
			r.Output([]byte(text[i:i+1]), at0(seconds+float64(i)/1e6))
		}
	}
	hook := func(seconds float64, h Hook) {
		h.Agent, h.At = "claude", at0(seconds)
		if err := r.Hook(h, at0(seconds)); err != nil {
			t.Fatal(err)
		}
	}
	for second := range 100 {
		now := float64(second)
		switch second {
		case 1:
			show(now, "✳ Fix", claudeReady)
		case 10:
			hook(now, Hook{Event: "UserPromptSubmit", State: Working})
			show(now, "⠂ Fix", claudeBusy)
		case 20:
			hook(now, Hook{Event: "PermissionRequest", State: Waiting, Kind: Permission, Reason: "Bash: rm"})
			show(now, "⠂ Fix", claudeDialog)
		case 30:
			r.Size(100, 30, at0(now))
			show(now, "⠐ Fix", claudeBusy)
		case 40:
			hook(now, Hook{Event: "Stop", State: Idle, Kind: Background, Reason: "in the background: server"})
			show(now, "✳ Fix", claudeReady)
		}
		if text, marked := marks[now]; marked {
			m, err := ParseMark(text)
			if err != nil {
				t.Fatal(err)
			}
			r.Mark(m, at0(now+0.5))
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestReplay(t *testing.T) {
	claude := Profiles(nil, nil)["claude"]
	right := map[float64]string{2: "idle", 12: "working", 22: "waiting permission", 32: "working", 42: "idle background", 60: "idle"}
	got, err := claude.Replay(bytes.NewReader(life(t, right)))
	if err != nil || !got.Passed() || got.Right != len(right) || got.Unknown != 0 || got.Program != "2.1.240 (Claude Code)" {
		t.Fatalf("%+v, %v", got, err)
	}
	var changes []string
	for _, m := range got.Moments {
		if m.Marked == "" {
			changes = append(changes, m.Judged.Text())
		}
	}
	if text := strings.Join(changes, ", "); text != "unknown, idle, working, waiting (permission), working, idle (work runs)" {
		t.Error(text)
	}

	got, err = claude.Replay(bytes.NewReader(life(t, map[float64]string{0: "idle", 12: "idle", 22: "waiting question", 42: "idle"})))
	if err != nil || got.Passed() || got.Right != 1 || got.Wrong != 2 || got.Unknown != 1 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err = claude.Replay(bytes.NewReader(life(t, nil))); err != nil || got.Passed() {
		t.Errorf("a recording without marks shows nothing: %+v, %v", got, err)
	}
	wrapper := Profile{Name: "w", Definition: Definition{Like: "claude"}}
	if got, err = wrapper.Replay(bytes.NewReader(life(t, right))); err != nil || !got.Passed() {
		t.Errorf("%+v, %v", got, err)
	}
}

// What a hook said before the recording began is as old as it is: the screen is believed
// against it from the first on.
func TestReplayOfAnOldHook(t *testing.T) {
	const begun = 1000
	var out bytes.Buffer
	for _, line := range []string{
		fmt.Sprintf(`{"version":2,"width":80,"height":24,"timestamp":%d,"middleman":{"profile":"claude","program":"x"}}`, begun),
		fmt.Sprintf(`[0,"h",%q]`, `{"agent":"claude","event":"Stop","state":"idle","at":"`+time.Unix(begun-480, 0).UTC().Format(time.RFC3339)+`"}`),
		fmt.Sprintf(`[0.5,"o",%s]`, cast(t, claudeReady)),
		`[0.7,"m","idle"]`,
		fmt.Sprintf(`[1,"o",%s]`, cast(t, "\x1b[2J\x1b[H"+claudeBusy)),
		`[2,"m","working"]`,
	} {
		out.WriteString(line + "\n")
	}
	got, err := Profiles(nil, nil)["claude"].Replay(&out)
	if err != nil || !got.Passed() || got.Right != 2 {
		t.Errorf("%+v, %v", got, err)
	}
}

// cast returns text as an event of a recording has it.
func cast(t *testing.T, text string) string {
	t.Helper()
	data, err := json.Marshal(strings.ReplaceAll(text, "\n", "\r\n"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestReplayBroken(t *testing.T) {
	head := `{"version":2,"width":80,"height":24,"timestamp":1,"middleman":{"profile":"claude","program":"x"}}` + "\n"
	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", "this is no asciicast v2"},
		{"text", "hello\n", "this is no asciicast v2"},
		{"version 3", `{"version":3}` + "\n", "this is no asciicast v2"},
		{"of nobody", `{"version":2,"width":80,"height":24}` + "\n", `the recording is of profile "", not of claude`},
		{"of another", strings.Replace(head, "claude", `\u001b[2J`, 1), `not of claude`},
		{"no event", head + "[]\n", "line 2 of the recording: it is no event"},
		{"a null", head + `[1,null,"x"]` + "\n[]\n", "line 3 of the recording: it is no event"},
		{"more", head + `[1,"o","x",2]` + "\n", "it is no event"},
		{"no time", head + `["1","o","x"]` + "\n", "it is no event"},
		{"before the beginning", head + `[-1,"o","x"]` + "\n", "it is no event"},
		{"after all", head + `[1e300,"o","x"]` + "\n", "it is no event"},
		{"no size", head + `[1,"r","big"]` + "\n", `"big" is no size`},
		{"no hook", head + `[1,"h","{"]` + "\n", "it is no report of a hook"},
		{"a hook of nobody", head + `[1,"h","{\"agent\":\"x\"}"]` + "\n", "there are hooks of"},
		{"no mark", head + `[1,"m","happy"]` + "\n", `"happy" is no state`},
		{"a long line", head + `[1,"o","` + strings.Repeat("x", maxCastLine) + `"]`, "too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Profiles(nil, nil)["claude"].Replay(strings.NewReader(tt.in))
			if err == nil || !strings.Contains(err.Error(), tt.want) || strings.ContainsRune(err.Error(), '\x1b') || len(got.Moments) != 0 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestParseMark(t *testing.T) {
	for text, want := range map[string]string{
		"working": "working", " waiting  permission": "waiting permission", "waiting": "waiting", "waiting rate limit": "waiting rate limit",
		"idle background": "idle background", "failed": "failed",
	} {
		if m, err := ParseMark(text); err != nil || m.String() != want {
			t.Errorf("%q: %v, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "happy", "idle permission", "working hard", "done", "permission"} {
		if m, err := ParseMark(text); err == nil {
			t.Errorf("%q: %v", text, m)
		}
	}
}

// FuzzReplay: whatever a recording has, there is an error or a judgement whose
// numbers are those of its marks.
func FuzzReplay(f *testing.F) {
	head := `{"version":2,"width":80,"height":24,"timestamp":1,"middleman":{"profile":"claude","program":"x"}}` + "\n"
	f.Add(head + `[0.1,"o","\u001b]0;✳ x\u0007"]` + "\n" + `[0.5,"m","idle"]` + "\n")
	f.Add(head + `[1,"r","1x1"]` + "\n" + `[1,"h","{\"agent\":\"claude\",\"event\":\"Stop\",\"state\":\"idle\"}"]` + "\n" + `[9e6,"m","working"]`)
	f.Fuzz(func(t *testing.T, in string) {
		got, err := Profiles(nil, nil)["claude"].Replay(strings.NewReader(in))
		if err != nil {
			return
		}
		marks := 0
		for _, m := range got.Moments {
			if m.Marked != "" {
				marks++
			}
		}
		if marks != got.Right+got.Wrong+got.Unknown || len(got.Moments) > maxMoments {
			t.Errorf("%+v", got)
		}
	})
}

// FuzzRecorder: output that comes in any pieces is recorded as the text that it
// is, and each line is whole.
func FuzzRecorder(f *testing.F) {
	f.Add([]byte("é✳\xff\xe2\x9c"), 1)
	f.Add([]byte("00\xe2\x9c\xe2\x9c"), 1)
	f.Fuzz(func(t *testing.T, p []byte, n int) {
		var out bytes.Buffer
		r := NewRecorder(&out, Recorded{Profile: "claude"}, 80, 24, at)
		for rest := p; len(rest) > 0; {
			k := min(max(n, 1), len(rest))
			r.Output(rest[:k], at)
			rest = rest[k:]
		}
		if _, err := Profiles(nil, nil)["claude"].Replay(&out); err != nil || r.Err() != nil {
			t.Fatal(err, r.Err())
		}
		if held := len(r.partial); held >= utf8.UTFMax {
			t.Fatal(fmt.Sprint(held, " bytes are held back"))
		}
	})
}
