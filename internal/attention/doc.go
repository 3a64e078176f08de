// Package attention says which sessions need their user, and in which order lists
// show sessions. The dashboard, the switch list and the web client all use it, so
// that they agree.
package attention
