package look

import (
	"sync"

	"middleman/internal/contain"
)

// together calls all functions at the same time, and waits for them. It returns the
// error of the first in their order that has one.
func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() { errs[i] = contain.Call(f) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
