package sandbox

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The variables of the program do not reach bwrap, which runs outside of the sandbox: a
// variable such as LD_PRELOAD would have it load a file that the program has written.
// They go around it in a file without a name, which the second stage reads.

// environmentFile returns the descriptor of such a file.
func environmentFile(entries []string) (fd int, err error) {
	fd, err = unix.MemfdCreate("environment", 0)
	if err != nil {
		return -1, fmt.Errorf("make a file for the environment: %w", err)
	}
	for raw, at := []byte(strings.Join(entries, "\x00")), int64(0); len(raw) > 0; {
		n, err := unix.Pwrite(fd, raw, at)
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("write the environment: %w", err)
		}
		raw, at = raw[n:], at+int64(n)
	}
	return fd, nil
}

// takeEnvironment makes the entries of the file the environment of this process.
func takeEnvironment(fd int) error {
	f := os.NewFile(uintptr(fd), "environment")
	if f == nil {
		return fmt.Errorf("read the environment: %d is no descriptor", fd)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return fmt.Errorf("read the environment: %w", err)
	}
	os.Clearenv()
	for _, entry := range strings.Split(string(raw), "\x00") {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			if err := os.Setenv(name, value); err != nil {
				return fmt.Errorf("set the variable %q: %w", name, err)
			}
		}
	}
	return nil
}
