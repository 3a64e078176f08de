//go:build unix

package app

import (
	"bufio"
	"bytes"
	"os"
	"strconv"
	"strings"
)

const fallbackShell = "/bin/sh"

// userShell returns the user's shell: $SHELL, else the one in /etc/passwd, else
// /bin/sh.
func userShell(environ []string) string {
	if shell := lookup(environ, "SHELL"); isProgram(shell) {
		return shell
	}
	if data, err := os.ReadFile("/etc/passwd"); err == nil {
		if shell := passwdShell(data, os.Getuid()); isProgram(shell) {
			return shell
		}
	}
	return fallbackShell
}

// passwdShell returns the last field of the user's line in passwd(5), or "".
func passwdShell(data []byte, uid int) string {
	lines := bufio.NewScanner(bytes.NewReader(data))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return fields[6]
		}
	}
	return ""
}

// isProgram reports whether path is absolute and names an executable file.
func isProgram(path string) bool {
	if !strings.HasPrefix(path, "/") {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}
