package model

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Why something is not known is said once, whoever says it again.
func TestUnknown(t *testing.T) {
	cause := errors.New("no such thing")
	err := Unknown(fmt.Errorf("look: %w", Unknown(cause)))
	if !errors.Is(err, ErrUnknown) || !errors.Is(err, cause) || strings.Count(err.Error(), ErrUnknown.Error()) != 1 {
		t.Errorf("%v", err)
	}
}
