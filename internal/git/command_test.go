package git

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"middleman/internal/contain"
)

// What reads git's output runs in a goroutine of os/exec's, where a panic would
// end the process.
func TestPanicIsAnError(t *testing.T) {
	c := Command{Dir: t.TempDir(), Args: []string{"version"}, Lines: true, Each: func(string) { panic("odd\nrecord") }}
	_, err := c.Run(context.Background())
	if p, ok := errors.AsType[*contain.PanicError](err); !ok || strings.Contains(err.Error(), "\n") || !strings.Contains(p.At, "command_test.go:") {
		t.Errorf("%v", err)
	}
	c = Command{Dir: t.TempDir(), Args: []string{"no-such-command"}}
	c.Errors = writer(func([]byte) (int, error) { panic("odd progress") })
	_, err = c.Run(context.Background())
	if p, ok := errors.AsType[*contain.PanicError](err); !ok || p.Value != "odd progress" {
		t.Errorf("%v", err)
	}
}

type writer func(p []byte) (int, error)

func (w writer) Write(p []byte) (int, error) { return w(p) }

// FuzzSettings gives settings of a repository's to what takes them over.
func FuzzSettings(f *testing.F) {
	f.Add([]byte("core.filemode\ntrue\x00branch.a\nb.merge\nrefs/heads/x\x00remote.o.url\next::sh\x00core.fsmonitor\nevil\x00branch\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var s settings
		config := filterSettings{out: &s}
		records := &splitter{each: config.take}
		if _, err := records.Write(data); err != nil {
			if _, ok := errors.AsType[*contain.PanicError](err); ok {
				t.Fatal(err)
			}
			return
		}
		checkTaken(t, s.text)
	})
}

// checkTaken has git read settings that were taken over: all of them are
// harmless.
func checkTaken(t *testing.T, text string) {
	if text == "" || strings.ContainsRune(text, 0) {
		return
	}
	var taken settings
	again := filterSettings{out: &taken}
	if err := again.read(context.Background(), t.TempDir(), []byte(text)); err != nil {
		return // git refuses it, and looks at nothing
	}
	if taken.risky {
		t.Errorf("more than what is harmless: %q", text)
	}
}

// FuzzSplitter cuts output anywhere: the records are the same.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\x00b\x00\x00c"), 3)
	f.Fuzz(func(t *testing.T, data []byte, at int) {
		read := func(parts ...[]byte) (list []string) {
			s := &splitter{each: func(record string) { list = append(list, record) }}
			for _, part := range parts {
				if _, err := s.Write(part); err != nil {
					return append(list, err.Error())
				}
			}
			return append(list, string(s.rest))
		}
		if at < 0 || at > len(data) || len(data) > maxRecord {
			return
		}
		want := strings.Split(string(data), "\x00")
		if got := read(bytes.Clone(data[:at]), data[at:]); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	})
}
