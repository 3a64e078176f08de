//go:build race

package main

// The race detector makes programs many times slower; scripts move less then.
const raced = true
