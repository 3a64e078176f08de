package setup

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"middleman/internal/private"
)

const (
	maxLog  = 2 << 20 // bytes of the file, and of the one before
	maxTail = 4 << 10 // bytes that last looks at
	maxLast = 600     // bytes that last returns
	lines   = 5       // that last returns
)

// logFile keeps the last of what is printed: when it is full it becomes the
// one before, PATH.1, and that goes.
type logFile struct {
	path string
	// mu guards the fields below.
	mu   sync.Mutex
	file *os.File
	size int
	tail []byte
}

func createLog(path string) (*logFile, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("make directory for what setup prints: %w", err)
	}
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() (err error) {
	if l.file, err = os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600); err != nil {
		return fmt.Errorf("keep what setup prints: %w", err)
	}
	l.size = 0
	return nil
}

func (l *logFile) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tail = append(l.tail, p...)
	if over := len(l.tail) - maxTail; over > 0 {
		l.tail = append(l.tail[:0], l.tail[over:]...)
	}
	if l.size+len(p) > maxLog && l.size > 0 {
		if err := l.turn(); err != nil {
			return 0, err
		}
	}
	n, err := l.file.Write(p)
	l.size += n
	return n, err
}

// turn makes the file the one before, and begins another.
func (l *logFile) turn() error {
	if err := l.file.Close(); err != nil {
		return err
	}
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		return err
	}
	return l.open()
}

func (l *logFile) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// last is the last lines that were printed, on one that can be shown.
func (l *logFile) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []string
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(l.tail), "?"), "\n") {
		line = strings.TrimSpace(strings.Map(shown, line))
		if line != "" && !strings.HasPrefix(line, "$ ") {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept[max(0, len(kept)-lines):], " / ")
	if over := len(text) - maxLast; over > 0 {
		text = "..." + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// shown is r, or nothing where a terminal would act on it.
func shown(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if !unicode.IsPrint(r) {
		return -1
	}
	return r
}

// ReadLog returns what is kept of the output in a log.
func ReadLog(path string) ([]byte, error) {
	before, err := private.ReadFile(path + ".1")
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	now, err := private.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return slices.Concat(before, now), nil
}

// RemoveLog removes a log; none is no error.
func RemoveLog(path string) error {
	for _, file := range []string{path + ".1", path} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
