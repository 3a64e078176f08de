package private

// hide does nothing: on this system, the code signature of a process decides who
// may read its memory.
func hide() error { return nil }

// Expose does nothing.
func Expose(string) (done func()) { return func() {} }
