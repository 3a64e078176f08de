package admin

import (
	"os"
	"os/exec"
)

// findOpener returns the program that opens a file for the user. It returns ""
// if there is none, or in an SSH login, which has no screen.
func findOpener() string {
	if os.Getenv("SSH_CONNECTION") != "" {
		return ""
	}
	opener, err := exec.LookPath("open")
	if err != nil {
		return ""
	}
	return opener
}
