// Package house holds the rules that the repository keeps about itself, as
// tests: which package may import which, and that what ARCHITECTURE.md names
// exists.
package house
