//go:build !linux && !darwin

package service

import (
	"context"
	"errors"
	"fmt"
)

// Path returns an error: there are no services here.
func Path() (string, error) { return "", Supported() }

// Text returns an error: there are no services here.
func Text(Options) ([]byte, error) { return nil, Supported() }

// Supported returns an error: there are no services here.
func Supported() error {
	return fmt.Errorf("middleman installs services only under systemd and launchd: %w", errors.ErrUnsupported)
}

// InstallCommands returns none.
func InstallCommands(string, bool, bool) [][]string { return nil }

// BeforeRemoval returns none.
func BeforeRemoval(string) [][]string { return nil }

// AfterRemoval returns none.
func AfterRemoval() [][]string { return nil }

// Ask returns the error of Supported.
func Ask(context.Context) (Status, error) { return Status{}, Supported() }

// Hint returns "".
func Hint() string { return "" }
