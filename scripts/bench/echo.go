//go:build linux

package main

import (
	"bytes"
	"fmt"
	"time"
)

// echoBar is how a way's echo compares with a peer's at most.
type echoBar struct {
	what, ours, peer string
	p50, p99         float64
}

var echoBars = []echoBar{
	{"echo of the owner's client", "owner", "dtach", 1, 1},
	{"echo of attach", "attach", "tmux", 1, 1},
	{"echo of a WebSocket", "WebSocket", "tmux", 1.1, 1.25},
	{"echo of a WebSocket, beside ttyd", "WebSocket", "ttyd", 2, 2},
	{"echo of attach, host tmux", "attach, host tmux", "tmux", 1.3, 1.3},
	{"echo of a WebSocket, host tmux", "WebSocket, host tmux", "tmux", 1.5, 1.5},
}

// echoRounds is how many rounds there are. A ratio is met where it is in all of
// them but one.
const echoRounds = 5

// echo is a keystroke's way to a program and back. The ways take turns with
// each key, and ratios are those of one round.
func (b *bench) echo() error {
	ways := append([]way{bare, owner, attach, chain}, b.installed(dtach, screen, ttyd, plain)...)
	if len(b.installed(plain)) > 0 {
		ways = append(ways, tmuxAttach, tmuxChain)
	}
	views, err := b.openAll(ways, b.program(modeEcho, 0))
	if err != nil {
		return err
	}
	defer endAll(views)
	rounds, err := b.echoAll(views)
	if err != nil {
		return err
	}
	for _, bar := range echoBars {
		b.addEcho(bar, rounds, 50, bar.p50)
		b.addEcho(bar, rounds, 99, bar.p99)
	}
	for _, v := range views {
		b.rows = append(b.rows, row{what: "  for comparison", peer: fmt.Sprintf("%s p50 %s, p99 %s", v.way,
			shown(medianOf(rounds, v.way, 50)), shown(medianOf(rounds, v.way, 99)))})
	}
	return nil
}

// echoAll measures echoRounds rounds of the views.
func (b *bench) echoAll(views []*view) ([]map[string][]time.Duration, error) {
	keys := b.pick(1000, 150)
	if _, err := keystrokes(views, keys/4); err != nil { // the first ones warm up
		return nil, err
	}
	var rounds []map[string][]time.Duration
	for range echoRounds {
		took, err := keystrokes(views, keys)
		if err != nil {
			return nil, err
		}
		rounds = append(rounds, took)
	}
	return rounds, nil
}

// keystrokes types keys, each at every view in turn.
func keystrokes(views []*view, keys int) (map[string][]time.Duration, error) {
	took := make(map[string][]time.Duration)
	for i := range keys {
		for _, v := range views {
			d, err := keystroke(v, i)
			if err != nil {
				return nil, err
			}
			took[v.way] = append(took[v.way], d)
		}
	}
	return took, nil
}

// medianOf is the median over rounds of a way's percentile.
func medianOf(rounds []map[string][]time.Duration, way string, p int) time.Duration {
	var all []time.Duration
	for _, took := range rounds {
		all = append(all, percentile(took[way], p))
	}
	return percentile(all, 50)
}

// addEcho adds the row of a percentile, unless one of the two is not there.
func (b *bench) addEcho(e echoBar, rounds []map[string][]time.Duration, p int, bar float64) {
	var ratios []float64
	met := 0
	for _, took := range rounds {
		if len(took[e.ours]) == 0 || len(took[e.peer]) == 0 {
			return
		}
		ratio := float64(percentile(took[e.ours], p)) / float64(percentile(took[e.peer], p))
		ratios = append(ratios, ratio)
		if ratio <= bar {
			met++
		}
	}
	b.rows = append(b.rows, row{
		what: fmt.Sprintf("%s, p%d", e.what, p), ours: shown(medianOf(rounds, e.ours, p)),
		peer: e.peer + " " + shown(medianOf(rounds, e.peer, p)), ratio: fmt.Sprintf("%.2f", percentile(ratios, 50)),
		bar: fmt.Sprintf("<= %.2f", bar), met: met >= echoRounds-1,
	})
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
