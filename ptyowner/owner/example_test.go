//go:build unix

package owner_test

import (
	"fmt"
	"os"

	"middleman/ptyowner/owner"
)

// A program that starts sessions is their owner too: it calls Main before all
// else when it is started as one.
func ExampleMain() {
	if len(os.Args) > 1 && os.Args[1] == "pty-owner" {
		os.Exit(owner.Main(os.Args[2:], "v1.2.3"))
	}
	fmt.Println("not an owner")
	// Output: not an owner
}
