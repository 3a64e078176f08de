//go:build linux

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// row is one budget's line.
type row struct {
	what    string
	ours    string
	peer    string // who ours is compared with, and its figure
	ratio   string
	bar     string
	met     bool
	failure error // it could not be measured
}

func printHead(w io.Writer, short bool) {
	form := "full"
	if short {
		form = "short"
	}
	fmt.Fprintf(w, "budgets, %s form\n\n", form)
	fmt.Fprintf(w, "%-40s %-22s %-28s %7s  %-9s %s\n", "what", "ours", "peer", "ratio", "bar", "")
}

func printRows(w io.Writer, rows []row) {
	for _, r := range rows {
		verdict := "NOT MET"
		switch {
		case r.failure != nil:
			fmt.Fprintf(w, "%-40s not measured: %v\n", r.what, r.failure)
			continue
		case r.bar == "":
			verdict = ""
		case r.met:
			verdict = "ok"
		}
		line := fmt.Sprintf("%-40s %-22s %-28s %7s  %-9s %s", r.what, r.ours, r.peer, r.ratio, r.bar, verdict)
		fmt.Fprintln(w, strings.TrimRight(line, " "))
	}
}

// printSummary reports whether a budget was missed or not measured.
func printSummary(w io.Writer, rows []row, absent []string) (missed bool) {
	var met, all int
	for _, r := range rows {
		if r.failure != nil || r.bar != "" {
			all++
		}
		if r.failure == nil && r.bar != "" && r.met {
			met++
		}
	}
	fmt.Fprintf(w, "\n%d of %d budgets met", met, all)
	if len(absent) > 0 {
		fmt.Fprintf(w, "; not installed, so not compared: %s", strings.Join(absent, ", "))
	}
	fmt.Fprintln(w)
	return met < all
}

// atLeast adds a row whose ratio of ours to the peer's must not be below bar.
func (b *bench) atLeast(what string, ours, peer float64, unit, name string, bar float64) {
	ratio := ours / peer
	b.rows = append(b.rows, row{
		what: what, ours: fmt.Sprintf("%.0f %s", ours, unit), peer: fmt.Sprintf("%s %.0f %s", name, peer, unit),
		ratio: fmt.Sprintf("%.2f", ratio), bar: fmt.Sprintf(">= %.2f", bar), met: ratio >= bar,
	})
}

// atMost adds a row whose ratio of ours to the peer's must not be above bar.
func (b *bench) atMost(what string, ours, peer time.Duration, name string, bar float64) {
	ratio := float64(ours) / float64(peer)
	b.rows = append(b.rows, row{
		what: what, ours: shown(ours), peer: name + " " + shown(peer),
		ratio: fmt.Sprintf("%.2f", ratio), bar: fmt.Sprintf("<= %.2f", bar), met: ratio <= bar,
	})
}

// within adds a row of a time that must not be above bar.
func (b *bench) within(what string, took []time.Duration, bar time.Duration) {
	b.rows = append(b.rows, row{
		what: what, ours: "p50 " + shown(percentile(took, 50)) + ", p99 " + shown(percentile(took, 99)),
		bar: "<= " + shown(bar), met: percentile(took, 50) <= bar,
	})
}

func shown(d time.Duration) string {
	switch {
	case d >= 10*time.Second:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/1e6)
	}
	return fmt.Sprintf("%d us", d.Microseconds())
}

// percentile does not change its argument, which is not empty.
func percentile[T time.Duration | float64](all []T, p int) T {
	sorted := slices.Sorted(slices.Values(all))
	return sorted[min(len(sorted)*p/100, len(sorted)-1)]
}
