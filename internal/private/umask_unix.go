//go:build unix

package private

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
)

// loginDefs is the system's file of settings for logins (login.defs(5)).
const loginDefs = "/etc/login.defs"

// defaultUmask is the umask of a login if loginDefs has none.
const defaultUmask = 0o022

// SessionUmask returns the umask for a session's program, with any host: the bits
// of a login's umask and those of starter, the umask of the process that starts
// it. So a user with umask 077 loses no privacy, and a server with umask 000 does
// not make files writable by others.
func SessionUmask(starter int) int { return loginUmask() | starter }

// loginUmask returns the umask of a login.
func loginUmask() int {
	data, err := os.ReadFile(loginDefs)
	if err != nil {
		return defaultUmask
	}
	return parseUmask(data)
}

// parseUmask returns the UMASK in the content of login.defs(5), or defaultUmask.
func parseUmask(data []byte) int {
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if !bytes.HasPrefix(bytes.TrimSpace(lines.Bytes()), []byte("UMASK")) {
			continue // before bytes.Fields, which allocates
		}
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
