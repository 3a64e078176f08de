//go:build !linux

package egress

import (
	"fmt"
	"os"
)

// Main is the proxy process on Linux. Elsewhere there is none.
func Main([]string) int {
	fmt.Fprintln(os.Stderr, "middleman: a network list needs Linux")
	return 2
}
