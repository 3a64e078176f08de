//go:build unix

package audit

import (
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// A pipe in the place of a file of the log is told of, and waited for by
// nobody.
func TestPipesHoldNobodyUp(t *testing.T) {
	for _, name := range []string{happened, lockFile} {
		t.Run(name, func(t *testing.T) {
			var told []error
			l := New(t.TempDir(), func(err error) { told = append(told, err) })
			if err := syscall.Mkfifo(filepath.Join(l.dir, name), 0o600); err != nil {
				t.Fatal(err)
			}
			l.Write(Record{Event: Login, Outcome: OK})
			if len(told) != 1 {
				t.Errorf("told of %v", told)
			}
			if _, _, err := Read(l.dir, time.Time{}); (err == nil) != (name == lockFile) {
				t.Errorf("read: %v", err)
			}
		})
	}
}
