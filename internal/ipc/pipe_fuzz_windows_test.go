package ipc

import (
	"strings"
	"testing"
)

func FuzzIsPipeName(f *testing.F) {
	for _, seed := range []string{pipePrefix + "abc", pipePrefix, `\\.\pipe\other`, pipePrefix + `..\x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if isPipeName(name) && (strings.Count(name, `\`) != 4 || strings.ContainsAny(name, "/\x00:")) {
			t.Errorf("%q passes", name)
		}
	})
}
