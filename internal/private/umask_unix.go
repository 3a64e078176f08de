//go:build unix

package private

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
)

// loginDefs is where a system says what a login begins with (login.defs(5)).
const loginDefs = "/etc/login.defs"

// defaultUmask is a login's where nothing else is said.
const defaultUmask = 0o022

// LoginUmask is the umask that a login begins with, and that programs of the
// user start with, whatever hosts their terminal. The server's own is that
// of whoever happened to start it.
func LoginUmask() int {
	data, err := os.ReadFile(loginDefs)
	if err != nil {
		return defaultUmask
	}
	return parseUmask(data)
}

// parseUmask finds UMASK in login.defs.
func parseUmask(data []byte) int {
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		fields := bytes.Fields(lines.Bytes())
		if len(fields) != 2 || string(fields[0]) != "UMASK" {
			continue
		}
		if n, err := strconv.ParseUint(string(fields[1]), 8, 9); err == nil {
			return int(n)
		}
	}
	return defaultUmask
}
