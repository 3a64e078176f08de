// Package onwindows has no code. Its tests drive the real binary on Windows from
// outside: the server, its API, the command line, a console. scripts/test-windows
// builds the binary and runs them under Wine.
package onwindows
