package contain

import "sync"

// Together calls all functions at the same time, each as by Call, and waits for them.
// It returns the error of the first in their order that has one.
func Together(all ...func() error) error {
	errs := make([]error, len(all))
	var wg sync.WaitGroup
	for i, f := range all {
		wg.Go(func() { errs[i] = Call(f) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
