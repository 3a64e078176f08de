//go:build unix

package admin

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"middleman/internal/app"
	"middleman/internal/ownpath"
	"middleman/internal/plaintext"
	"middleman/internal/proc"
)

// killCommand is the command that ends a process.
func killCommand(pid int) string { return fmt.Sprintf("kill %d", pid) }

// scrub executes this program again, in the same process, if the environment
// holds variables that the server does not need. Other processes can read the
// initial environment until the next execve(2); os.Unsetenv does not change it.
// On success scrub does not return.
func scrub(args []string) error {
	wanted := app.Environment(os.Environ())
	if slices.Equal(wanted, os.Environ()) {
		return nil
	}
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	return fmt.Errorf("start the server again with a reduced environment: %s: %w", exe, syscall.Exec(exe, args, wanted))
}

// restartable returns nil: a process can execute a program in its own place.
func restartable() error { return nil }

// run starts the server again in this process: whoever supervises it notices
// nothing. On success run does not return. What it has to say goes to errs.
func (e *restartError) run(errs *plaintext.Writer) error {
	if e.program != "" {
		args := append([]string{e.program}, e.args[1:]...)
		err := syscall.Exec(e.program, args, ownpath.Environ())
		fmt.Fprintf(errs, "middleman: %s cannot be run, the server goes on with its own program: %v\n", e.program, err)
		_ = errs.Flush() // nobody is left to be told
	}
	return fmt.Errorf("start the server again: %s: %w", e.executable, syscall.Exec(e.executable, e.args, ownpath.Environ()))
}

// adopt waits for the processes that this process has started before it executed
// this program, such as owners of sessions, so that none is left as a zombie.
func adopt() {
	all, _ := proc.All() // without it, zombies are left until this process ends
	for _, p := range all {
		if p.Parent != os.Getpid() {
			continue
		}
		go func() { // ends with the child, or with this process
			if child, err := os.FindProcess(p.PID); err == nil {
				_, _ = child.Wait() // its status is recorded by itself
			}
		}()
	}
}
