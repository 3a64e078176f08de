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

// Path is where the service's file belongs.
func Path() (string, error) {
	home, err := os.UserHomeDir()
	return filepath.Join(home, "Library", "LaunchAgents", Label+".plist"), err
}

// Text is the service's file.
func Text(o Options) ([]byte, error) { return Agent(o) }

// Supported returns nil: every macOS has launchd.
func Supported() error { return nil }

func domain() string { return fmt.Sprintf("gui/%d", os.Getuid()) }

// InstallCommands are to be run when the file is in place. Without start it is
// not started before the next login. loaded says that the manager has one.
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

// BeforeRemoval are to be run before the file is removed, AfterRemoval then.
func BeforeRemoval(string) [][]string {
	return [][]string{{"launchctl", "bootout", domain() + "/" + Label}}
}

// AfterRemoval is nothing: launchd has forgotten the agent already.
func AfterRemoval() [][]string { return nil }

// Ask asks the manager how the service is.
func Ask(ctx context.Context) (Status, error) {
	out, err := exec.CommandContext(ctx, "launchctl", "print", domain()+"/"+Label).Output()
	if err != nil { // which is what it says of one that is not loaded
		return Status{Enabled: "no", Active: "inactive"}, nil
	}
	s := Status{Enabled: "yes", Active: "active"}
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " = ")
		if key == "pid" && s.PID == 0 {
			s.PID, _ = strconv.Atoi(value) // 0 where it is nothing else
		}
	}
	return s, nil
}

// Hint is what the user should know beside, or "".
func Hint() string { return "" }
