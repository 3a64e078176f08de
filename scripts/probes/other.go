//go:build !linux

package main

import (
	"fmt"
	"os"
)

func main() {
	fmt.Fprintln(os.Stderr, "probes: they need Linux: what they check is read from /proc")
	os.Exit(2)
}
