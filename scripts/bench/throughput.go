//go:build linux

package main

import (
	"fmt"
	"time"

	"middleman/terminal/vt"
)

// throughput is a coloured log's way from the program to the viewer.
func (b *bench) throughput() error {
	fast := []way{bare, owner, chain}
	fast = append(fast, b.installed(dtach, ttyd)...)
	speed, err := b.rates(fast, b.pick(200, 40)<<20, b.pick(5, 3))
	if err != nil {
		return err
	}
	b.atLeast("throughput to the owner's client", speed["owner"], speed["bare PTY"], "MB/s", "bare PTY", 0.85)
	b.atLeast("throughput to a WebSocket", speed["WebSocket"], speed["bare PTY"], "MB/s", "bare PTY", 0.8)
	if s, ok := speed["ttyd"]; ok {
		b.atLeast("throughput to a WebSocket", speed["WebSocket"], s, "MB/s", "ttyd", 1.1)
	}
	if s, ok := speed["dtach"]; ok {
		b.rows = append(b.rows, row{what: "  for comparison", peer: fmt.Sprintf("dtach %.0f MB/s", s)})
	}
	// Those that draw are slower by far, and get less to draw.
	slow := b.installed(plain, screen)
	if len(b.installed(plain)) > 0 {
		slow = append(slow, ourTmux)
	}
	drawn, err := b.rates(slow, b.pick(32, 4)<<20, b.pick(5, 3))
	if err != nil {
		return err
	}
	if s, ok := drawn["tmux"]; ok {
		b.atLeast("throughput to a WebSocket", speed["WebSocket"], s, "MB/s", "tmux", 3)
		b.atLeast("throughput of our tmux backend", drawn["our tmux"], s, "MB/s", "tmux", 1/1.15)
	}
	if s, ok := drawn["screen"]; ok {
		b.rows = append(b.rows, row{what: "  for comparison", peer: fmt.Sprintf("screen %.0f MB/s", s)})
	}
	return nil
}

// rates returns for each way the median of MB/s over rounds in which every
// way has its turn. The first round warms up.
func (b *bench) rates(ways []way, size, rounds int) (map[string]float64, error) {
	views, err := b.openAll(ways, b.program(modeLog, size))
	if err != nil {
		return nil, err
	}
	defer endAll(views)
	rates := make(map[string][]float64)
	for round := range rounds + 1 {
		for _, v := range views {
			began := time.Now()
			if err := v.write([]byte("g")); err != nil {
				return nil, err
			}
			stuck := time.AfterFunc(2*time.Minute, v.close)
			err := v.until(done(round + 1))
			stuck.Stop()
			if err != nil {
				return nil, err
			}
			if round > 0 {
				rates[v.way] = append(rates[v.way], float64(size)/1e6/time.Since(began).Seconds())
			}
		}
	}
	medians := make(map[string]float64)
	for name, all := range rates {
		medians[name] = percentile(all, 50)
	}
	return medians, nil
}

// screen is the rate of the terminal's engine alone.
func (b *bench) screen() error {
	log := colouredLog(8 << 20)
	t := vt.New(vt.Options{Cols: int(b.size.Cols), Rows: int(b.size.Rows)})
	t.Write(log) // fills the scrollback
	var rates []float64
	for range b.pick(15, 5) {
		began := time.Now()
		for p := log; len(p) > 0; {
			n := min(len(p), 32<<10)
			t.Write(p[:n])
			p = p[n:]
		}
		rates = append(rates, float64(len(log))/1e6/time.Since(began).Seconds())
	}
	rate := percentile(rates, 50)
	b.rows = append(b.rows, row{what: "terminal/vt", ours: fmt.Sprintf("%.0f MB/s", rate), bar: ">= 200 MB/s", met: rate >= 200})
	return nil
}
