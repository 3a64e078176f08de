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

// SessionUmask is the umask that a session's program starts with, whatever
// hosts its terminal: that of a login, and what its starter keeps from others
// besides. So a user with a umask of 077 loses no privacy, and a server that
// was started with one of 000 gives nothing away.
func SessionUmask(starter int) int { return loginUmask() | starter }

// loginUmask is the umask that a login begins with.
func loginUmask() int {
	data, err := os.ReadFile(loginDefs)
	if err != nil {
		return defaultUmask
	}
	return parseUmask(data)
}

// parseUmask finds UMASK in login.defs.
func parseUmask(data []byte) int {
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		if !bytes.HasPrefix(bytes.TrimSpace(lines.Bytes()), []byte("UMASK")) {
			continue // without garbage for each
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
