//go:build !darwin

package admin

import (
	"os"
	"os/exec"
)

// findOpener returns the program that opens a file for the user. It returns ""
// if there is none, or no display.
func findOpener() string {
	if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
		return ""
	}
	opener, err := exec.LookPath("xdg-open")
	if err != nil {
		return ""
	}
	return opener
}
