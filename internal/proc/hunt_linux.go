package proc

import (
	"bytes"
	"os"
	"strconv"
	"time"
)

const (
	// beginTime is how long a process may take from its pid to an environment.
	beginTime = 2 * time.Millisecond
	// maxPause is how long Hunt may be kept from its CPU before a process can
	// have come and gone unseen.
	maxPause = time.Millisecond
	// maxBegun bounds how many new processes are watched at the same time. More
	// are no chain, and the next look at all processes finds them.
	maxBegun = 64
	// huntFactor bounds how long a hunt takes.
	huntFactor = 20
)

// Hunt looks for a process with entry in its environment (see hasEnv) among those
// that start, and returns the first one. It returns false after it has seen each
// process that started in a time d, at most after 20 times d. All cannot find a
// process that ends before it is read, and so misses a chain of processes of which
// each only starts the next one. Hunt asks for the last pid that was given out
// (proc_loadavg(5)), and looks at that process at once. It keeps a CPU busy
// meanwhile.
func Hunt(entry string, d time.Duration) (Process, bool) {
	file, err := os.Open("/proc/loadavg")
	if err != nil {
		return Process{}, false
	}
	defer file.Close()
	h := hunt{entry: entry, last: lastPID(file), begun: make(map[int]time.Time)}
	now := time.Now()
	end, limit := now.Add(d), now.Add(huntFactor*d)
	for now.Before(end) && now.Before(limit) {
		found, missed := h.look(lastPID(file), now)
		if found != nil {
			return leader(*found)
		}
		before := now
		if now = time.Now(); missed || now.Sub(before) > maxPause {
			end = now.Add(d)
		}
	}
	return Process{}, false
}

type hunt struct {
	entry string
	last  int               // the newest pid that was seen
	begun map[int]time.Time // by pid: processes that have shown no environment yet
}

// look looks at the processes up to the pid newest that have not been looked at.
// missed reports that one was not seen.
func (h *hunt) look(newest int, now time.Time) (found *Process, missed bool) {
	if newest < h.last {
		h.last = newest - 1 // pids have begun again
	}
	for ; h.last < newest; h.last++ {
		if len(h.begun) < maxBegun {
			h.begun[h.last+1] = now
		} else {
			missed = true
		}
	}
	for pid, since := range h.begun {
		p, ok := Find(pid)
		if ok {
			var has bool
			if has, ok = hasEnv(p, h.entry); has {
				return &p, false
			}
		}
		late := now.Sub(since) > beginTime
		missed = missed || late && !ok
		if ok || late {
			delete(h.begun, pid)
		}
	}
	return nil, missed
}

// lastPID reads from /proc/loadavg which pid was given out last, 0 on failure.
func lastPID(loadavg *os.File) int {
	buf := make([]byte, 128)
	n, _ := loadavg.ReadAt(buf, 0) // io.EOF after all of it
	line := bytes.TrimSpace(buf[:n])
	pid, _ := strconv.Atoi(string(line[bytes.LastIndexByte(line, ' ')+1:]))
	return pid
}

// leader returns the process that p, which may be one of its threads, belongs to.
func leader(p Process) (Process, bool) {
	status, _ := os.ReadFile("/proc/" + strconv.Itoa(p.PID) + "/status") // an error means that it has ended
	_, after, _ := bytes.Cut(status, []byte("\nTgid:\t"))
	line, _, _ := bytes.Cut(after, []byte("\n"))
	pid, err := strconv.Atoi(string(line))
	if err != nil || pid == p.PID {
		return p, true
	}
	return Find(pid)
}
