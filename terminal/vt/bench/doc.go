// Package bench compares terminal/vt with other terminal screens in Go, all in
// one run on the same input. It is a module of its own, so that these are not
// dependencies of the main one.
//
//	cd terminal/vt/bench && go test -bench .
package bench
