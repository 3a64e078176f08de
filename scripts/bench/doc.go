// Command bench measures the budgets of the design on this machine, beside
// the peers that are installed, and prints one line for each.
//
// What is compared is measured in interleaved rounds of one run, so that
// noise hits all alike. Every system runs the same programs, which are modes
// of this binary (program.go), on a terminal of the same size. A way
// (way.go) is how a viewer reaches such a program: a bare PTY, our owner, our
// whole chain to a WebSocket, or a peer.
package main
