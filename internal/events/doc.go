// Package events tells everybody what happens: the last events are kept in a
// ring, and who reads it goes on from where it stands.
package events
