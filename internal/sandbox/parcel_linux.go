package sandbox

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// The arguments and the variables of the program do not reach bwrap. It runs outside of
// the sandbox, where a variable such as LD_PRELOAD would have it load a file that the
// program has written, and it takes at most 9,000 arguments (MAX_ARGS in bubblewrap.c).
// They go around it in files without a name, which the second stage reads.

// listFile returns the descriptor of such a file with the entries, in which there is no
// NUL. The file is inherited by what this process executes.
func listFile(name string, entries []string) (fd int, err error) {
	fd, err = unix.MemfdCreate(name, 0)
	if err != nil {
		return -1, fmt.Errorf("make a file for the %s: %w", name, err)
	}
	var raw []byte
	for _, entry := range entries {
		raw = append(append(raw, entry...), 0)
	}
	for at := int64(0); len(raw) > 0; {
		n, err := unix.Pwrite(fd, raw, at)
		if err != nil {
			unix.Close(fd)
			return -1, fmt.Errorf("write the %s: %w", name, err)
		}
		raw, at = raw[n:], at+int64(n)
	}
	return fd, nil
}

// takeList returns the entries of such a file, and closes it.
func takeList(name string, fd int) (entries []string, err error) {
	f := os.NewFile(uintptr(fd), name)
	if f == nil {
		return nil, fmt.Errorf("read the %s: %d is no descriptor", name, fd)
	}
	defer f.Close()
	raw, err := io.ReadAll(f)
	if err != nil {
		return nil, fmt.Errorf("read the %s: %w", name, err)
	}
	entries = strings.Split(string(raw), "\x00")
	return entries[:len(entries)-1], nil
}

// takeEnvironment makes the entries of the file the environment of this process.
func takeEnvironment(fd int) error {
	entries, err := takeList("environment", fd)
	if err != nil {
		return err
	}
	os.Clearenv()
	for _, entry := range entries {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			if err := os.Setenv(name, value); err != nil {
				return fmt.Errorf("set the variable %q: %w", name, err)
			}
		}
	}
	return nil
}
