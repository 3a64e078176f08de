// Package audit writes the audit log in the data directory: which callers were
// admitted or refused, and what was destroyed with whose consent. Each record is
// a line of JSON.
//
// Records of what happened are in audit.log, refusals in audit-refused.log, so
// that refused callers cannot push out the other records. Each file is rotated by
// size. Records never contain a secret. Every line is ASCII: text from strangers
// is bounded and escaped.
//
// If a record cannot be written, the operation that it describes goes on.
package audit
