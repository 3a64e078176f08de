//go:build !linux && !darwin

package service

import (
	"context"
	"errors"
	"fmt"
)

// Path is where the service's file would belong.
func Path() (string, error) { return "", Supported() }

// Text is the service's file.
func Text(Options) ([]byte, error) { return nil, Supported() }

// Supported says that there are no services here.
func Supported() error {
	return fmt.Errorf("middleman makes services of systemd and launchd: %w", errors.ErrUnsupported)
}

// InstallCommands is nothing.
func InstallCommands(string, bool, bool) [][]string { return nil }

// BeforeRemoval is nothing.
func BeforeRemoval(string) [][]string { return nil }

// AfterRemoval is nothing.
func AfterRemoval() [][]string { return nil }

// Ask returns what Supported does.
func Ask(context.Context) (Status, error) { return Status{}, Supported() }

// Hint is "".
func Hint() string { return "" }
