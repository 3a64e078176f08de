package egress

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"middleman/internal/private"
)

const (
	// maxLog is the size of the log at which it becomes the older one, which
	// replaces the one before.
	maxLog = 128 << 10
	// repeatAfter is how long an equal denial is only counted.
	repeatAfter = time.Minute
	// maxRecent bounds the denials that are compared. When it is full, all are
	// forgotten.
	maxRecent = 256
	// older is what the older log has after its name.
	older = ".1"
)

// Denial is one refused attempt, a line of the log.
type Denial struct {
	Time time.Time `json:"time"`
	// Via is how it came: dns, direct, http, connect or socks; secret is a request to a
	// host with secrets.
	Via string `json:"via"`
	// Target is what was asked for, at most a few hundred bytes. The program
	// chose it, so it is hostile text.
	Target string `json:"target"`
	// Rule is why it was denied.
	Rule string `json:"rule"`
	// Again is how many equal attempts were not written since the last line.
	Again int `json:"again,omitempty"`
}

// denials writes the log. It is safe for concurrent use.
type denials struct {
	path string
	now  func() time.Time

	mu     sync.Mutex // guards all below and the files
	recent map[Denial]*repeated
}

// repeated is when a denial was last written, and how often it came since.
type repeated struct {
	at    time.Time
	again int
}

func newDenials(path string) *denials {
	return &denials{path: path, now: time.Now, recent: map[Denial]*repeated{}}
}

// add writes a denial, unless an equal one was just written. A log that cannot be
// written denies nothing more and nothing less, so that error ends here.
func (d *denials) add(via, target, rule string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	key := Denial{Via: via, Target: clip(target), Rule: rule}
	now := d.now().UTC()
	last := d.recent[key]
	if last != nil && now.Sub(last.at) < repeatAfter {
		last.again++
		return
	}
	line := key
	line.Time = now
	if last != nil {
		line.Again = last.again
	}
	if len(d.recent) >= maxRecent {
		clear(d.recent)
	}
	d.recent[key] = &repeated{at: now}
	_ = d.write(line)
}

func (d *denials) write(line Denial) error {
	raw, err := json.Marshal(line)
	if err != nil {
		return err
	}
	f, err := private.Append(d.path)
	if err != nil {
		return err
	}
	_, err = f.Write(append(raw, '\n'))
	info, statErr := f.Stat()
	err = errors.Join(err, statErr, f.Close())
	if err == nil && info.Size() >= maxLog {
		err = os.Rename(d.path, d.path+older)
	}
	return err
}

// ReadDenials returns the last denials of the log at path, the latest last, at most
// n. A log that does not exist has none. Lines that are none of ours are left out.
func ReadDenials(path string, n int) ([]Denial, error) {
	var found []Denial
	for _, name := range []string{path + older, path} {
		raw, err := private.ReadFile(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the denials of a sandbox: %w", err)
		}
		found = append(found, parseDenials(raw)...)
	}
	return found[max(0, len(found)-n):], nil
}

func parseDenials(raw []byte) (found []Denial) {
	for line := range bytes.Lines(raw) {
		var d Denial
		if json.Unmarshal(line, &d) == nil && d.Via != "" {
			found = append(found, d)
		}
	}
	return found
}
