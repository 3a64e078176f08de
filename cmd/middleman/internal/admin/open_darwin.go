package admin

import (
	"os"
	"os/exec"
)

// findOpener returns what shows a file to the user, "" where there is nothing
// or no screen to show it on.
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
