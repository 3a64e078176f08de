package service

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/adrg/xdg"

	"middleman/internal/systemd"
)

// Path returns the path of the service's file.
func Path() (string, error) {
	return filepath.Join(xdg.ConfigHome, "systemd", "user", unitName), nil
}

// Text returns the service's file.
func Text(o Options) ([]byte, error) { return systemdUnit(o) }

// Supported returns nil, or an error that wraps errors.ErrUnsupported.
func Supported() error {
	if !systemd.Booted() {
		return fmt.Errorf("systemd does not manage this system, so no service can be installed: %w", errors.ErrUnsupported)
	}
	return nil
}

// InstallCommands returns the commands to run once the file is in place.
// Without start the service starts at the next login. loaded says that the
// manager has loaded the service already.
func InstallCommands(_ string, start, _ bool) [][]string {
	commands := [][]string{systemctl("daemon-reload"), systemctl("enable", unitName)}
	if start {
		commands = append(commands, systemctl("restart", unitName))
	}
	return commands
}

// BeforeRemoval returns the commands to run before the file is removed.
func BeforeRemoval(string) [][]string { return [][]string{systemctl("disable", "--now", unitName)} }

// AfterRemoval returns the command that makes the manager forget the service.
func AfterRemoval() [][]string { return [][]string{systemctl("daemon-reload")} }

func systemctl(args ...string) []string { return append([]string{"systemctl", "--user"}, args...) }

// Ask asks the manager for the state of the service.
func Ask(ctx context.Context) (Status, error) {
	if err := Supported(); err != nil {
		return Status{}, err
	}
	args := systemctl("show", "--property=UnitFileState,ActiveState,MainPID", unitName)
	out, err := exec.CommandContext(ctx, args[0], args[1:]...).Output()
	if err != nil {
		if exit, ok := errors.AsType[*exec.ExitError](err); ok {
			err = errors.New(strings.TrimSpace(string(exit.Stderr)))
		}
		return Status{}, fmt.Errorf("%s: %w", strings.Join(args, " "), err)
	}
	var s Status
	for line := range strings.Lines(string(out)) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		switch key {
		case "UnitFileState":
			s.Enabled = value
		case "ActiveState":
			s.Active = value
		case "MainPID":
			s.PID, _ = strconv.Atoi(value) // 0 if it is no number
		}
	}
	return s, nil
}

// Hint returns what else the user should know, or "".
func Hint() string {
	on, err := lingers()
	if on || err != nil {
		return ""
	}
	return "logging out ends the server and its sessions, because lingering is off for your user: `loginctl enable-linger` turns it on"
}

// lingers reports whether the user's service manager keeps running after the
// last logout. systemd-logind records that as a file.
func lingers() (bool, error) {
	u, err := user.Current()
	if err != nil {
		return false, err
	}
	_, err = os.Stat(filepath.Join("/var/lib/systemd/linger", u.Username))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
