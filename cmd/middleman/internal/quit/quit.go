// Package quit is how this process takes SIGQUIT. The terminal's QUIT key, ctrl-\ unless
// stty says otherwise, sends it until a session has the terminal, and ctrl-\ is the key
// that detaches. Go would end with the stacks of all goroutines.
//
// What the signal means belongs to the process, of which a command is the only one that
// has the terminal. It catches nothing that the process was told to ignore.
package quit

import (
	"os"
	"os/signal"
	"sync"
)

// Status is the exit code of a process that the signal has ended, as a shell tells it.
const Status = 128 + 3

// asked has the signal that came while nothing was done.
var asked = make(chan struct{}, 1)

// mu guards the rest.
var (
	mu       sync.Mutex
	caught   chan os.Signal // nil before Catch, and after Default
	end      func()         // what the signal does; nil: it is remembered
	detaches bool           // it means to detach, whatever end is
)

// Catch begins to take the signal. Until Ends is called it is remembered.
func Catch() {
	mu.Lock()
	defer mu.Unlock()
	if caught != nil {
		return
	}
	c := make(chan os.Signal, 1)
	if !notify(c) {
		return
	}
	caught = c
	go func() { // ends with the process, or with Default
		for range c {
			take()
		}
	}()
}

// take does what the signal means.
func take() {
	mu.Lock()
	do := end
	if detaches {
		do = nil
	}
	mu.Unlock()
	if do != nil {
		do()
		return
	}
	select {
	case asked <- struct{}{}:
	default:
	}
}

// Ends makes the signal call f, at once if it came already. Detaches goes before it.
func Ends(f func()) {
	mu.Lock()
	end = f
	now := !detaches
	mu.Unlock()
	if now && Asked() {
		f()
	}
}

// Detaches makes the signal mean to detach from the session that the process will have
// on its terminal, until undo is called.
func Detaches() (undo func()) {
	mu.Lock()
	defer mu.Unlock()
	before := detaches
	detaches = true
	return func() {
		mu.Lock()
		defer mu.Unlock()
		detaches = before
		Asked()
	}
}

// Asked reports whether the signal came and nothing was done, and forgets it.
func Asked() bool {
	select {
	case <-asked:
		return true
	default:
		return false
	}
}

// Leave has the signal if it means to detach.
func Leave() <-chan struct{} { return asked }

// Default leaves the signal to Go, until Catch is called: it ends the process and prints all
// stacks, which is what one wants of a server.
func Default() {
	mu.Lock()
	defer mu.Unlock()
	if caught != nil {
		signal.Stop(caught)
		close(caught)
		caught = nil
	}
}
