package ws_test

import (
	"os"
	"testing"

	"middleman/ptyowner/owner"

	"go.uber.org/goleak"
)

// The test binary is its own pty-owner, as middleman is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "test"))
	}
	goleak.VerifyTestMain(m)
}
