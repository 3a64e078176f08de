// Command probes attacks a built middleman from outside: over its sockets, its
// files, its command line and what repositories hold. Each probe says what an
// attacker would gain if it got through, and each area begins with controls:
// the same request with the right credentials works, so a refusal is one.
//
// It imports nothing of middleman's. All that it starts and writes is below one
// temporary directory, is gone at the end, and it looks that it is.
package main
