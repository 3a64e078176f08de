// Package events keeps the last events in a ring. Each reader continues after the
// event that it read last.
package events
