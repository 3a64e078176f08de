//go:build !linux

package systemd

import (
	"context"
	"errors"
	"os/exec"
)

func startScoped(context.Context, string, *exec.Cmd) (scoped bool, err error) { return false, nil }

// ScopeUsable returns errors.ErrUnsupported: there are no scopes here.
func ScopeUsable(Unit) error { return errors.ErrUnsupported }
