package dashboard

// canSuspend: there is no job control.
func canSuspend() bool { return false }
