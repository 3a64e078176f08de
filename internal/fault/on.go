//go:build faults

package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// variable names the plan's directory.
const variable = "MIDDLEMAN_FAULTS"

// Files in a plan's directory besides those of the places.
const (
	reachedFile   = "reached"  // one line for each time that a place acted
	reachedSuffix = ".reached" // a FIFO to which a held process writes its id
	releaseSuffix = ".release" // a FIFO that releases it
)

var (
	mu     sync.Mutex         // guards visits, and makes due one step
	visits = map[string]int{} // by the path of the place's file
)

// Here marks a place where a test may end this process or make it wait.
func Here(name string) { _ = act(name) }

// Error marks a place where a test may make the next operation fail.
func Error(name string) error { return act(name) }

// Env returns the variables to add when a process is started with an explicit
// environment: the plan's, and GORACE in a race build.
func Env() []string {
	if dir := os.Getenv(variable); dir != "" {
		return append(raceEnv(), variable+"="+dir)
	}
	return raceEnv()
}

// fileName returns the file that says what happens at a place.
func fileName(dir, name string) string {
	return filepath.Join(dir, strings.ReplaceAll(name, "/", "+"))
}

// act does what the plan says for a place.
func act(name string) error {
	dir := os.Getenv(variable)
	if dir == "" {
		return nil
	}
	path := fileName(dir, name)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil // the plan says nothing for it
	}
	var action string
	var after, times int
	if _, err := fmt.Sscan(string(text), &action, &after, &times); err != nil {
		panic(fmt.Sprintf("plan for %s is %q: %v", name, text, err))
	}
	if !due(dir, name, after, times) {
		return nil
	}
	switch Action(action) {
	case Kill:
		kill()
	case Hold:
		hold(path)
	case Panic:
		panic("fault at " + name)
	case Full:
		return syscall.ENOSPC
	case Broken:
		return syscall.EIO
	}
	return nil
}

// due counts a visit, and reports whether the place acts this time. If so, it
// notes that. The lock keeps concurrent visits within times.
func due(dir, name string, after, times int) bool {
	mu.Lock()
	defer mu.Unlock()
	path := fileName(dir, name)
	visit := visits[path]
	visits[path]++
	if visit < after {
		return false
	}
	if acted, err := reached(dir, name); err != nil {
		panic(err)
	} else if times > 0 && acted >= times {
		return false
	}
	note(dir, name)
	return true
}

// note records, for the test, that a place acted.
func note(dir, name string) {
	f, err := os.OpenFile(filepath.Join(dir, reachedFile), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(name + " " + strconv.Itoa(os.Getpid()) + "\n"); err != nil {
		panic(err)
	}
}

// reached returns how often a place acted, in any process.
func reached(dir, name string) (n int, err error) {
	data, err := os.ReadFile(filepath.Join(dir, reachedFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	for line := range strings.Lines(string(data)) {
		if at, _, _ := strings.Cut(line, " "); at == name {
			n++
		}
	}
	return n, nil
}

// kill ends this process as kill -9 does.
func kill() {
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // the signal takes a moment
}

// hold reports to one FIFO, and waits until the other is opened for writing.
func hold(path string) {
	report, err := os.OpenFile(path+reachedSuffix, os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(report, os.Getpid())
	report.Close()
	release, err := os.OpenFile(path+releaseSuffix, os.O_RDONLY, 0)
	if err != nil {
		panic(err)
	}
	release.Close()
}
