package private

// hide has nothing to do: who may look into a process is decided by its
// signature here.
func hide() error { return nil }

// Expose has nothing to do.
func Expose(string) (done func()) { return func() {} }
