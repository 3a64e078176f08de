//go:build unix

package ws_test

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"
)

// BenchmarkThroughput is program -> owner -> attachment -> WebSocket of 200 MB
// of text, with a client that acknowledges as the web client does.
func BenchmarkThroughput(b *testing.B) {
	const size = 200 << 20
	b.SetBytes(size)
	for b.Loop() {
		script := fmt.Sprintf(`stty -opost -echo; echo ready; read go; yes "$(seq -s ' ' 40)" | head -c %d`, size)
		c := join(b, serve(b, start(b, script), nil), "from=0&max_lag=0")
		c.output(contains("ready"))
		c.input([]byte("\n"))
		acked := c.offset
		for {
			m, data := c.next()
			if m.Type == "exit" {
				break
			}
			c.offset += uint64(len(data))
			if c.offset-acked >= 32<<10 {
				acked = c.offset
				c.sendText(map[string]any{"type": "ack", "offset": acked})
			}
		}
		if c.offset < size {
			b.Fatalf("%d bytes, want %d", c.offset, size)
		}
	}
}

// BenchmarkEcho is a keystroke's way to the terminal and its echo's back.
func BenchmarkEcho(b *testing.B) {
	c := join(b, serve(b, start(b, `echo ready; exec cat >/dev/null`), nil), "from=0")
	c.output(contains("ready"))
	var took []time.Duration
	for b.Loop() {
		began := time.Now()
		c.input([]byte("k"))
		for {
			_, data := c.next()
			c.offset += uint64(len(data))
			if bytes.Contains(data, []byte("k")) {
				break
			}
		}
		took = append(took, time.Since(began))
		if len(took)%1000 == 0 { // a line of the terminal's driver holds 4096 bytes
			c.input([]byte("\n"))
			c.sendText(map[string]any{"type": "ack", "offset": c.offset})
		}
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-us")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-us")
}
