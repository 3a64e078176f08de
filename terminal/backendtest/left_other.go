//go:build unix && !linux

package backendtest

func testLeft(f *fixture) { f.Skip("this system does not tell what a program has left") }
