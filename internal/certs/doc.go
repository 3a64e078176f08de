// Package certs provides the server's TLS certificate: the user's own, which is
// read again when its files change, or one of a local authority of ours.
//
// The authority is made once, in the data directory. It is limited to the names
// and addresses that this machine has at that moment. Its key never leaves the
// directory. The key of the server's certificate is never on disk.
//
// A private key that others could read or have written is refused.
package certs
