//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// instance is the name that the server has for itself.
func (s *server) instance() string {
	var v struct{ ID string }
	readJSON(filepath.Join(s.home, "data", "instance.json"), &v)
	return v.ID
}

func readJSON(path string, v any) { must(json.Unmarshal(must1(os.ReadFile(path)), v)) }

func write(path, text string) {
	must(os.MkdirAll(filepath.Dir(path), 0o755))
	must(os.WriteFile(path, []byte(text), 0o644))
}

func executable(path, text string) {
	write(path, text)
	must(os.Chmod(path, 0o755))
}

// memory is what the server's process holds, in bytes.
func (s *server) memory() (bytes int) { return processMemory(s.cmd.Process.Pid) }

func processMemory(pid int) (bytes int) {
	for line := range strings.Lines(string(must1(os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))))) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &bytes); err == nil {
			return bytes << 10
		}
	}
	return 0
}

func unmarshal(text string, v any) { must(json.Unmarshal([]byte(text), v)) }
