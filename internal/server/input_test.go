//go:build linux || darwin

package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"middleman/internal/api"
	"middleman/internal/server"
)

// reader is a session whose program takes n bytes into a file once go-on is
// there.
func (r *running) reader(n int) (id, file, goOn string) {
	r.t.Helper()
	dir := filepath.Dir(r.place.dirs.Data)
	file, goOn = filepath.Join(dir, "typed"), filepath.Join(dir, "go-on")
	s := r.session(r.workspace("typed", nil), "sh", "-c",
		"stty raw -echo; echo raw; until test -e '"+goOn+"'; do sleep 0.05; done; head -c "+strconv.Itoa(n)+" >'"+file+"'")
	a := r.call("GET", "/sessions/"+s.ID+"/wait?for=text&value=raw&timeout=60s", nil)
	if a.status != 200 {
		r.t.Fatalf("wait: %d %s", a.status, a.body)
	}
	return s.ID, file, goOn
}

// typing is an input of which it is known how much was sent.
type typing struct {
	sent   atomic.Int64
	status atomic.Int64
	body   []byte
	cancel context.CancelFunc
	done   chan struct{}
}

// send types what from has, in the background; chunked where size is -1.
func (r *running) send(id string, from io.Reader, size int64) *typing {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	x := &typing{cancel: cancel, done: make(chan struct{})}
	req, err := http.NewRequestWithContext(ctx, "POST", "http://localhost/api/v1/sessions/"+id+"/input",
		io.TeeReader(from, writerFunc(func(p []byte) { x.sent.Add(int64(len(p))) })))
	if err != nil {
		r.t.Fatal(err)
	}
	req.ContentLength = size
	req.Header.Set("Content-Type", "application/octet-stream")
	go func() {
		defer close(x.done)
		resp, err := r.socket.Do(req)
		if err != nil {
			return
		}
		x.body, _ = io.ReadAll(resp.Body)
		resp.Body.Close()
		x.status.Store(int64(resp.StatusCode))
	}()
	r.t.Cleanup(func() { cancel(); <-x.done })
	return x
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// soon waits until a condition holds.
func soon(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// Inputs arrive whole and in order, also where several are typed at once.
func TestInputsAreWhole(t *testing.T) {
	eachBackend(t, func(t *testing.T, p *place) {
		const size, n = 300_001, 4
		r := p.serve(t)
		id, file, goOn := r.reader(n * size)
		write(t, goOn, "")
		var all []*typing
		for i := range n {
			length := int64(size)
			if i%2 == 1 {
				length = -1
			}
			all = append(all, r.send(id, bytes.NewReader(bytes.Repeat([]byte{byte('a' + i)}, size)), length))
		}
		for i, x := range all {
			<-x.done
			if x.status.Load() != http.StatusNoContent {
				t.Fatalf("input %d: %d %s", i, x.status.Load(), x.body)
			}
		}
		var typed []byte
		soon(t, "all bytes in the file", func() bool {
			typed, _ = os.ReadFile(file)
			return len(typed) == n*size
		})
		seen := map[byte]bool{}
		for i := range n {
			part := typed[i*size : (i+1)*size]
			if bytes.Count(part, part[:1]) != size || seen[part[0]] {
				t.Errorf("what was typed %d. is no input as a whole", i+1)
			}
			seen[part[0]] = true
		}
	})
}

// What waits for a program that does not read is bounded, and a client that
// leaves makes room.
func TestInputOfADeafProgram(t *testing.T) {
	r := newPlace(t).serve(t)
	id, _, goOn := r.reader(1)
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	const each = 16 << 20
	var all []*typing
	for range 17 { // one more than may wait
		all = append(all, r.send(id, io.LimitReader(zeros{}, each), each))
	}
	soon(t, "one is refused, and the others wait", func() bool {
		refused, begun := 0, 0
		for _, x := range all {
			switch {
			case x.status.Load() == http.StatusServiceUnavailable:
				refused++
			case x.sent.Load() > 0:
				begun++
			}
		}
		return refused == 1 && begun == 16
	})
	for end := time.Now().Add(time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		sent := int64(0)
		for _, x := range all {
			sent += x.sent.Load()
		}
		var now runtime.MemStats
		runtime.ReadMemStats(&now)
		if grown := int64(now.HeapInuse) - int64(before.HeapInuse); sent > 16<<20 || grown > 32<<20 {
			t.Fatalf("the server took %d bytes, and the heap has grown by %d", sent, grown)
		}
	}
	for _, x := range all {
		x.cancel()
		<-x.done
	}
	if runtime.GOOS != "linux" {
		write(t, goOn, "") // elsewhere who left is found out when the program reads
	}
	soon(t, "there is room again", func() bool {
		late := r.send(id, bytes.NewReader([]byte("x")), 1)
		select {
		case <-late.done:
			return late.status.Load() != http.StatusServiceUnavailable
		case <-time.After(time.Second): // it waits, as it may
			return true
		}
	})
}

// Where an input fails, the answer says how much of it was typed.
func TestInputSaysWhatWasTaken(t *testing.T) {
	var r *running
	var id string
	for _, timeout := range []time.Duration{3 * time.Second, 20 * time.Second, patience} {
		r = newPlace(t).serve(t, func(o *server.Options) { o.BodyTimeout = timeout })
		var goOn string
		id, _, goOn = r.reader(1 << 20)
		write(t, goOn, "")
		from, to := io.Pipe()
		x := r.send(id, from, -1)
		if _, err := to.Write(make([]byte, 100_000)); err != nil {
			t.Fatal(err)
		}
		<-x.done // nothing more comes, which the server waits for so long
		to.Close()
		var p api.Problem
		if err := json.Unmarshal(x.body, &p); err != nil || x.status.Load() != 400 {
			t.Fatalf("%d %s", x.status.Load(), x.body)
		}
		enough := p.Taken != nil && *p.Taken >= 100_000-32<<10
		if !enough && timeout < patience {
			t.Logf("a busy machine has not sent it within %v: %s", timeout, x.body)
			continue
		}
		if !enough || *p.Taken > 100_000 {
			t.Errorf("%s", x.body)
		}
		break
	}
	for _, size := range []int64{16<<20 + 1, 1 << 40} {
		x := r.send(id, io.LimitReader(zeros{}, size), size)
		<-x.done
		if x.status.Load() != 413 && x.status.Load() != 0 { // the connection may go before the answer is read
			t.Errorf("%d bytes: %d %s", size, x.status.Load(), x.body)
		}
	}
}
