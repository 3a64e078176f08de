package audit

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"middleman/internal/private"
)

const (
	happened = "audit.log"
	refusals = "audit-refused.log"
	lockFile = "audit.lock"

	maxBytes = 1 << 20 // bytes of a file
	maxFiles = 5       // files of each log, the present one included
	// refusedEvery is the least time between two records of refusals of the same
	// kind. Refusals in between are counted.
	refusedEvery = time.Minute
	// maxKinds bounds the kinds of refusals that are distinguished at a time.
	maxKinds = 64
)

// Log writes records. Several processes may write to one directory.
// A nil *Log records nothing.
type Log struct {
	dir    string
	failed func(error)
	max    int64         // maxBytes, except in tests
	every  time.Duration // refusedEvery, except in tests
	// mu guards the fields below.
	mu     sync.Mutex
	counts map[string]*count
	broken bool // the last record could not be written
}

// count counts the refusals of one kind.
type count struct {
	last  Record
	more  int // refusals since the last record
	timer *time.Timer
}

// New returns a log in dir, which no other user must be able to write. It calls
// failed, unless nil, when a record cannot be written, and not again until one
// could be written. failed must not call the log's methods.
func New(dir string, failed func(error)) *Log {
	return &Log{dir: dir, failed: failed, max: maxBytes, every: refusedEvery, counts: map[string]*count{}}
}

// Write records r in audit.log. It sets r.Time to now if that is zero.
func (l *Log) Write(r Record) {
	if l == nil {
		return
	}
	if r.Time.IsZero() {
		r.Time = time.Now()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.write(happened, r)
}

// Refuse records a refusal in audit-refused.log, with the present time. If there
// was one of the same event, address and caller within the last minute, Refuse
// only counts it; the count is recorded at the end of the minute.
func (l *Log) Refuse(r Record) {
	if l == nil {
		return
	}
	r.Time, r.Outcome = time.Now(), Refused
	l.mu.Lock()
	defer l.mu.Unlock()
	kind := r.Event + " " + r.From + " " + r.By.ID
	if l.counts[kind] == nil && len(l.counts) >= maxKinds {
		kind = "others"
		r.Detail = "of many addresses; the last: " + r.Detail
	}
	if c := l.counts[kind]; c != nil {
		c.last = r
		c.more++
		return
	}
	c := &count{last: r}
	c.timer = time.AfterFunc(l.every, func() { l.settle(kind) })
	l.counts[kind] = c
	l.write(refusals, r)
}

// settle records the count of one kind of refusal, and restarts it. If the count
// is 0, it forgets the kind.
func (l *Log) settle(kind string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.counts[kind]
	if c == nil {
		return // closed meanwhile
	}
	if c.more == 0 {
		delete(l.counts, kind)
		return
	}
	c.last.Times = c.more
	l.write(refusals, c.last)
	c.more = 0
	c.timer.Reset(l.every)
}

// Close records the refusals that were only counted so far.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for kind, c := range l.counts {
		c.timer.Stop()
		if c.more > 0 {
			c.last.Times = c.more
			l.write(refusals, c.last)
		}
		delete(l.counts, kind)
	}
}

// write appends r to the file with that name. mu must be held.
func (l *Log) write(name string, r Record) {
	err := l.append(name, r)
	if err != nil && !l.broken && l.failed != nil {
		l.failed(fmt.Errorf("record %s: %w", r.Event, err))
	}
	l.broken = err != nil
}

func (l *Log) append(name string, r Record) (err error) {
	line, err := r.Marshal()
	if err != nil {
		return err
	}
	lock, err := private.AwaitLock(context.Background(), filepath.Join(l.dir, lockFile))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	path := filepath.Join(l.dir, name)
	if err := l.rotate(path, int64(len(line))+2); err != nil {
		return err
	}
	f, err := private.Append(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if torn(f) {
		line = append([]byte{'\n'}, line...)
	}
	_, err = f.Write(append(line, '\n'))
	return err
}

// torn reports whether a file ends with an incomplete line, as after a full disk.
func torn(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	last := make([]byte, 1)
	_, err = f.ReadAt(last, info.Size()-1)
	return err == nil && last[0] != '\n'
}

// rotate makes room for so many bytes. If the file has too few left, it gives each
// file the name of the next older one, and the oldest is deleted.
func (l *Log) rotate(path string, room int64) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() || info.Size()+room <= l.max {
		return nil
	}
	for n := maxFiles - 1; n > 0; n-- {
		if err := os.Rename(older(path, n-1), older(path, n)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// older returns the path of the nth older file, or of the present one for 0.
func older(path string, n int) string {
	if n == 0 {
		return path
	}
	return path + "." + strconv.Itoa(n)
}

// Read returns the records of both logs since a time, oldest first, and the number
// of lines that are no valid records. Missing files are no error.
func Read(dir string, since time.Time) (list []Record, damaged int, err error) {
	for _, name := range []string{happened, refusals} {
		for n := maxFiles - 1; n >= 0; n-- {
			records, bad, err := readFile(older(filepath.Join(dir, name), n), since)
			if err != nil {
				return nil, 0, err
			}
			list, damaged = append(list, records...), damaged+bad
		}
	}
	slices.SortStableFunc(list, func(a, b Record) int { return a.Time.Compare(b.Time) })
	return list, damaged, nil
}

func readFile(path string, since time.Time) (list []Record, damaged int, err error) {
	f, err := private.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("read the audit log: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, 2*maxBytes))
	lines.Buffer(make([]byte, 0, maxLine), 2*maxBytes)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		r, err := parse(lines.Bytes())
		if err != nil {
			damaged++
		} else if !r.Time.Before(since) {
			list = append(list, r)
		}
	}
	switch err := lines.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		damaged++ // no record is that long; the rest of the file counts with it
	case err != nil:
		return nil, 0, fmt.Errorf("read the audit log %s: %w", path, err)
	}
	return list, damaged, nil
}
