package model

import (
	"errors"
	"strings"
	"testing"

	"middleman/internal/contain"
)

func TestPanicNamesTheWorkspace(t *testing.T) {
	var err error
	func() {
		defer Containing("w\n1", &err)
		var none []int
		none[0]++
	}()
	if p, ok := errors.AsType[*contain.PanicError](err); !ok || !strings.HasPrefix(err.Error(), `workspace "w\n1": a fault`) || !strings.Contains(p.At, "contain_test.go:") {
		t.Errorf("%v", err)
	}
}
