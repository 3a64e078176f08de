package host

// Host starts programs; there is none on Windows yet.
type Host interface {
	// Name is what is recorded with each session.
	Name() string
}
