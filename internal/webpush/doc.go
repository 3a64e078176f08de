// Package webpush sends notices to browsers by Web Push: a request to the push
// service that a browser has named (RFC 8030), signed by a key of ours (RFC 8292)
// and encrypted for that browser alone (RFC 8188, RFC 8291). The service sees when
// something is sent, and neither what nor how much.
//
// The service's address comes from a browser that is logged in, and its answers
// from the network: a request takes seconds at most, follows no redirect, reaches
// public addresses alone unless the user allows others, and of its answer the
// status and Retry-After count. What is worth a notice is decided elsewhere.
package webpush
