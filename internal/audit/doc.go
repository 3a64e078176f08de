// Package audit keeps the record of who came in, who was refused, and what was
// destroyed by whose consent: one line of JSON each, in the data directory.
//
// What happened is in audit.log, what was refused in audit-refused.log, so that
// nobody who is refused can push out what happened. Each is rotated by size.
// A secret is never recorded. Every line is ASCII: whatever a stranger chose is
// bounded and escaped.
//
// A record that cannot be written never stops what it is about.
package audit
