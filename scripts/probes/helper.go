//go:build linux

package main

const helperMode = "helper"

func runHelper(args []string) int { return 2 }
