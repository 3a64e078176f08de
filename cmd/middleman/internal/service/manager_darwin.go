package service

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Path returns the path of the service's file.
func Path() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", label+".plist"), err
}

// Text returns the service's file.
func Text(o Options) ([]byte, error) { return launchdAgent(o) }

// Supported returns nil: every macOS has launchd.
func Supported() error { return nil }

func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }

// InstallCommands returns the commands to run once the file is in place.
// Without start the service starts at the next login. loaded says that the
// manager has loaded the service already.
func InstallCommands(path string, start, loaded bool) [][]string {
	var commands [][]string
	if start && loaded {
		commands = BeforeRemoval(path)
	}
	if start {
		commands = append(commands, []string{"launchctl", "bootstrap", domain(), path})
	}
	return commands
}

// BeforeRemoval returns the commands to run before the file is removed.
func BeforeRemoval(string) [][]string {
	return [][]string{{"launchctl", "bootout", domain() + "/" + label}}
}

// AfterRemoval returns none: launchd has forgotten the agent already.
func AfterRemoval() [][]string { return nil }

// Ask asks the manager for the state of the service.
func Ask(ctx context.Context) (Status, error) {
	out, err := exec.CommandContext(ctx, "launchctl", "print", domain()+"/"+label).Output()
	if err != nil { // launchctl fails if the agent is not loaded
		return Status{Enabled: "no", Active: "inactive"}, nil
	}
	s := Status{Enabled: "yes", Active: "active"}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if key == "pid" && s.PID == 0 {
			s.PID, _ = strconv.Atoi(value) // 0 if it is no number
		}
	}
	return s, nil
}

// Hint returns what else the user should know, or "".
func Hint() string { return "" }
