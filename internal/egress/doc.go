// Package egress lets the program of a sandboxed session connect to the hosts of
// a list, and to no others.
//
// The program runs in a network namespace that has nothing but a loopback
// interface. Three parts give it a way out:
//
//  1. Before bubblewrap starts, sandbox-exec calls Start. That starts the proxy, a
//     process outside the sandbox, and returns what bubblewrap needs.
//  2. Inside, before the program, sandbox-inner calls Join. It passes the network
//     namespace to the proxy over an inherited socket, and waits.
//  3. The proxy (Main) opens listening sockets in that namespace, from outside, and
//     accepts on them. So nothing of ours runs inside beside the program, no process
//     inside ever has a capability, and the program has no descriptor of ours. The
//     proxy ends with the last process of the sandbox.
//
// A program reaches the proxy in three ways: by an HTTP proxy and a SOCKS5 proxy,
// which the usual variables name, and directly. For the last, a name server inside
// answers each name of the list with a loopback address of that name's own. A
// connection to such an address goes to the name, on the same port.
//
// The proxy trusts nothing from inside. It parses the name, matches it with the
// list, resolves it by itself, refuses addresses that are not public, and dials
// the very address that it checked. A denial is a line of a bounded log, with the
// rule that denied.
//
// Without reading TLS, nobody can tell what a connection to an allowed host
// carries. A host that forwards for others (a content delivery network by the Host
// header, an open proxy) leads to these others.
package egress
