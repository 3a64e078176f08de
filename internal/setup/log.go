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
	maxLog  = 2 << 20 // bytes of the file, and of PATH.1
	maxTail = 4 << 10 // bytes from which last takes its lines
	maxLast = 600     // bytes that last returns
	lines   = 5       // lines of the output that Run returns
)

// logFile keeps the last part of the output. When the file is full, it is renamed
// to PATH.1, which replaces an older one.
type logFile struct {
	path string
	// mu guards the fields below.
	mu   sync.Mutex
	file *os.File
	size int
	tail []byte
}

func createLog(path string) (*logFile, error) {
	if err := private.MakeDir(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("keep the output of setup: %w", err)
	}
	l := &logFile{path: path}
	return l, l.open()
}

func (l *logFile) open() (err error) {
	if l.file, err = private.Create(l.path); err != nil {
		return fmt.Errorf("keep the output of setup: %w", err)
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

// turn renames the file to PATH.1, and begins a new one.
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

// last returns the last n lines of the output, joined to one line that is safe to
// show in a terminal. It leaves out the lines "$ COMMAND" that Run writes.
func (l *logFile) last(n int) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var kept []string
	for line := range strings.SplitSeq(strings.ToValidUTF8(string(l.tail), "?"), "\n") {
		line = strings.TrimSpace(strings.Map(shown, line))
		if line != "" && !strings.HasPrefix(line, "$ ") {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept[max(0, len(kept)-n):], " / ")
	if over := len(text) - maxLast; over > 0 {
		text = "..." + strings.ToValidUTF8(text[over:], "")
	}
	return text
}

// shown maps r for strings.Map: it drops what is not printable, and replaces a
// tab by a space.
func shown(r rune) rune {
	if r == '\t' {
		return ' '
	}
	if !unicode.IsPrint(r) {
		return -1
	}
	return r
}

// ReadLog returns the kept output of the log at path. A missing log is
// fs.ErrNotExist.
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

// RemoveLog removes the log at path. A missing log is no error.
func RemoveLog(path string) error {
	for _, file := range []string{path + ".1", path} {
		if err := os.Remove(file); err != nil && !os.IsNotExist(err) {
			return err
		}
	}
	return nil
}
