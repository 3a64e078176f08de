// Package certs has the certificate that the server shows: one of the user's,
// read again when its files change, or one of a local authority of ours.
//
// The authority is made once, in the data directory, for the names and
// addresses that this machine has then, and can vouch for no others. Its key
// never leaves the directory; the server's own is never on disk.
//
// A private key that others could read or have written is refused.
package certs
