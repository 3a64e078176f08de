package terminal

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"time"
)

func TestExitStatus(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   Exit
		want int
	}{
		{"success", Exit{}, 0},
		{"code", Exit{Code: 42}, 42},
		{"killed", Exit{Code: -1, Signal: 9, SignalName: "SIGKILL"}, 137},
		{"terminated", Exit{Code: -1, Signal: 15}, 143},
	} {
		if got := tt.in.Status(); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestIDs(t *testing.T) {
	seen := make(map[string]bool)
	for range 1000 {
		id := NewID("s")
		if err := CheckID(id); err != nil || seen[id] || id[0] != 's' {
			t.Fatalf("%q: %v, seen %v", id, err, seen[id])
		}
		seen[id] = true
	}
	good := NewID("w")
	for _, bad := range []string{
		"", "s", "..", good[1:], good + "0", strings.ToUpper(good), "/" + good[1:],
		good[:5] + "/" + good[6:], good[:5] + "\x00" + good[6:], good[:5] + "." + good[6:], good[:5] + "u" + good[6:],
	} {
		if CheckID(bad) == nil {
			t.Errorf("%q passes for an id", bad)
		}
	}
}

// What is gone and what does not answer are never taken for each other.
func TestErrorsAreTold(t *testing.T) {
	start := &StartError{Session: "s1", Step: "start program", Err: fmt.Errorf("/x: %w", fs.ErrNotExist)}
	if !errors.Is(start, fs.ErrNotExist) || start.Error() != "start session s1: start program: /x: file does not exist" {
		t.Error(start)
	}
	if errors.Is(ErrGone, ErrUnreachable) || errors.Is(ErrUnreachable, ErrGone) {
		t.Error("gone and unreachable are one")
	}
	busy := &BusyError{Session: "s1", Writer: Writer{Client: "web", Since: time.Unix(0, 0)}}
	if !strings.Contains(busy.Error(), "attached by another viewer (web) since 19") {
		t.Error(busy)
	}
	left := &LeftoverError{Session: "s1", PIDs: []int{7, 8}}
	if !strings.Contains(left.Error(), "7, 8") {
		t.Error(left)
	}
}

func TestStateEnded(t *testing.T) {
	for state, want := range map[State]bool{
		StateStarting: false, StateRunning: false, StateStopping: false, StateUnreachable: false,
		StateExited: true, StateFailed: true, StateLost: true,
	} {
		if state.Ended() != want {
			t.Errorf("%s ended: %v", state, !want)
		}
	}
}

func TestParseRows(t *testing.T) {
	for in, want := range map[string]Rows{"1-24": {1, 24}, "7-7": {7, 7}, "3": {3, 3}} {
		if got, err := ParseRows(in); got != want || err != nil {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-", "0-3", "3-2", "a-b", "-1-3", "1-", "-3", "1-2-3", "1:2", "99999999999999999999"} {
		if got, err := ParseRows(in); err == nil {
			t.Errorf("%q is %+v", in, got)
		}
	}
}

// An offset and a hash are told apart by their form, also a hash of digits
// alone.
func TestParseExpect(t *testing.T) {
	for _, in := range []string{"0123456789abcdef0123456789abcdef", "00000000000000000000000000000000", "12345678901234567890123456789012"} {
		if got, err := ParseExpect(in); got.Hash != in || got.Offset != nil || err != nil {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for in, want := range map[string]uint64{"0": 0, "42": 42, "18446744073709551615": 1<<64 - 1} {
		if got, err := ParseExpect(in); got.Hash != "" || got.Offset == nil || *got.Offset != want || err != nil {
			t.Errorf("%q: %+v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "-1", "now", "0123456789ABCDEF0123456789ABCDEF", "0123456789abcdef", "18446744073709551616", "0x10"} {
		if got, err := ParseExpect(in); err == nil {
			t.Errorf("%q is %+v", in, got)
		}
	}
}
