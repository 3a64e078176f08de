package ptyowner

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"middleman/ptyowner/state"
)

// settled is how long a file must not have been written before its time of change
// tells whether it was changed since: file systems keep times in steps.
const settled = 2 * time.Second

// seen remembers what look found while an owner lived, for an attachment that is asked
// again and again: dashboards and lists ask all sessions. The zero value is ready. Safe
// for concurrent use.
type seen struct {
	mu    sync.Mutex // guards all below
	found look
	at    []fs.FileInfo // of marks, when found was found; nil for nothing
}

// look is s.look. If the state directory, those above it up to the data directory, and
// owner.json are those of an earlier call, with the same permissions, and nothing in
// the state directory was made, renamed or removed since, it returns what that found.
func (k *seen) look(s *session) (look, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := s.marks()
	if now != nil && unchanged(k.at, now) {
		return k.found, nil
	}
	k.at = nil
	l, err := s.look()
	if err == nil && l.life == state.Alive && l.hasRec && l.exit == nil && now != nil && areSettled(now) {
		k.found, k.at = l, now
	}
	return l, err
}

// marks returns what tells of a change: owner.json, the state directory, and those
// above it up to the data directory. It returns nil if one of them cannot be looked at.
func (s *session) marks() (marks []fs.FileInfo) {
	path := s.dir.File(state.RecordFile)
	for {
		info, err := os.Lstat(path)
		if err != nil {
			return nil
		}
		marks = append(marks, info)
		above := filepath.Dir(path)
		if path == s.b.o.Data || above == path {
			return marks
		}
		path = above
	}
}

// dated is how many of the marks count with their time: owner.json and the state
// directory. Those above change with other sessions.
const dated = 2

func unchanged(before, now []fs.FileInfo) bool {
	if len(before) != len(now) {
		return false
	}
	for i, was := range before {
		if !os.SameFile(was, now[i]) || was.Mode() != now[i].Mode() || i < dated && !was.ModTime().Equal(now[i].ModTime()) {
			return false
		}
	}
	return true
}

func areSettled(marks []fs.FileInfo) bool {
	for _, m := range marks[:dated] {
		if age := time.Since(m.ModTime()); age < settled {
			return false
		}
	}
	return true
}
