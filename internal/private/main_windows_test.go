package private_test

import (
	"bufio"
	"fmt"
	"os"
	"testing"

	"middleman/internal/private"
)

// TestMain is also the program of the child processes.
func TestMain(m *testing.M) {
	if path := os.Getenv("MIDDLEMAN_TEST_HOLD"); path != "" {
		_, err := private.TryLock(path)
		fmt.Println(err)
		_, _ = bufio.NewReader(os.Stdin).ReadString('\n') // until it is killed, or its parent is
		os.Exit(0)
	}
	os.Exit(m.Run())
}
