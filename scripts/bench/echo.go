//go:build linux

package main

import (
	"bytes"
	"fmt"
	"time"
)

// echo is a keystroke's way to a program and back.
func (b *bench) echo() error {
	ways := append([]way{bare, owner, chain}, b.installed(dtach, screen, plain)...)
	if len(b.installed(plain)) > 0 {
		ways = append(ways, ourTmux)
	}
	views, err := b.openAll(ways, b.program(modeEcho, 0))
	if err != nil {
		return err
	}
	defer endAll(views)
	took := make(map[string][]time.Duration)
	keys := b.pick(3000, 400)
	for i := range keys + keys/10 {
		for _, v := range views {
			d, err := keystroke(v, i)
			if err != nil {
				return err
			}
			if i >= keys/10 { // the first ones warm up
				took[v.way] = append(took[v.way], d)
			}
		}
	}
	b.compare("echo through the owner", took, "owner", "dtach", 1)
	b.compare("echo through the whole chain", took, "WebSocket", "tmux", 1)
	b.compare("echo through our tmux backend", took, "our tmux", "tmux", 1.15)
	for _, name := range []string{"bare PTY", "screen"} {
		if all, ok := took[name]; ok {
			b.rows = append(b.rows, row{what: "  for comparison", peer: fmt.Sprintf("%s p50 %s, p99 %s",
				name, shown(percentile(all, 50)), shown(percentile(all, 99)))})
		}
	}
	return nil
}

// keystroke types the i-th key and waits until it shows. The keys are not in
// any sequence that a terminal is sent.
func keystroke(v *view, i int) (time.Duration, error) {
	key := []byte{"vwxyz"[i%5]}
	stuck := time.AfterFunc(10*time.Second, v.close)
	defer stuck.Stop()
	began := time.Now()
	if err := v.write(key); err != nil {
		return 0, fmt.Errorf("type at %s: %w", v.way, err)
	}
	for {
		p, err := v.read()
		if err != nil {
			return 0, fmt.Errorf("read from %s: %w", v.way, err)
		}
		if bytes.Contains(p, key) {
			return time.Since(began), nil
		}
	}
}

// compare adds the rows of p50 and p99, unless the peer is not there.
func (b *bench) compare(what string, took map[string][]time.Duration, ours, peer string, bar float64) {
	if len(took[peer]) == 0 {
		return
	}
	for _, p := range []int{50, 99} {
		b.atMost(fmt.Sprintf("%s, p%d", what, p), percentile(took[ours], p), percentile(took[peer], p), peer, bar)
	}
}
