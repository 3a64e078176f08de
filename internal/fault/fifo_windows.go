//go:build faults

package fault

import (
	"errors"
	"fmt"
)

func makeFIFO(path string) error {
	return fmt.Errorf("make FIFO %s: %w", path, errors.ErrUnsupported)
}
