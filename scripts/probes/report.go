//go:build linux

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// verdict is how a probe ended.
type verdict string

const (
	passed  verdict = "passed"
	failed  verdict = "failed"
	skipped verdict = "skipped"
)

// result is one probe's.
type result struct {
	ID      string  `json:"id"`
	Area    string  `json:"area"`
	Title   string  `json:"title"`
	Gain    string  `json:"gain"`
	Control bool    `json:"control,omitempty"`
	Verdict verdict `json:"verdict"`
	// Evidence is why it failed or was skipped.
	Evidence string  `json:"evidence,omitempty"`
	Seconds  float64 `json:"seconds"`
}

// skip is why a probe cannot be tried here.
type skip struct{ why string }

func (s *skip) Error() string { return s.why }

func count(results []result, v verdict) (n int) {
	for _, r := range results {
		if r.Verdict == v {
			n++
		}
	}
	return n
}

func printList(out io.Writer, chosen []area) {
	total := 0
	for _, a := range chosen {
		fmt.Fprintf(out, "%s: %s\n", a.name, a.about)
		for _, p := range a.probes {
			total++
			fmt.Fprintf(out, "  %-44s %s\n  %-44s %s\n", p.id, p.title, "", p.gain)
		}
	}
	fmt.Fprintf(out, "%d probes in %d areas\n", total, len(chosen))
}

func printJSON(out io.Writer, results []result) {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	_ = e.Encode(results) // of plain fields, to a stream that is ours
}

// printReport prints a table by area, what failed with its evidence, why what
// was skipped was, and how many in the last line.
func printReport(out io.Writer, results []result) {
	fmt.Fprintf(out, "%-14s %7s %7s %8s %9s\n", "area", "passed", "failed", "skipped", "seconds")
	for _, rows := range byArea(results) {
		spent := 0.0
		for _, r := range rows {
			spent += r.Seconds
		}
		fmt.Fprintf(out, "%-14s %7d %7d %8d %9.1f\n", rows[0].Area, count(rows, passed), count(rows, failed), count(rows, skipped), spent)
	}
	for _, r := range results {
		if r.Verdict == failed {
			fmt.Fprintf(out, "\nFAILED %s: %s\n  gain: %s\n  %s\n", r.ID, r.Title, r.Gain, strings.ReplaceAll(r.Evidence, "\n", "\n  "))
		}
	}
	printSkips(out, results)
	fmt.Fprintf(out, "\n%d passed, %d failed, %d skipped\n", count(results, passed), count(results, failed), count(results, skipped))
}

func printSkips(out io.Writer, results []result) {
	var order []string
	ids := map[string][]string{}
	for _, r := range results {
		if r.Verdict != skipped {
			continue
		}
		if ids[r.Evidence] == nil {
			order = append(order, r.Evidence)
		}
		ids[r.Evidence] = append(ids[r.Evidence], r.ID)
	}
	for _, why := range order {
		fmt.Fprintf(out, "\nskipped, because %s:\n  %s\n", why, strings.Join(ids[why], "\n  "))
	}
}

// byArea groups results in their order.
func byArea(results []result) (groups [][]result) {
	for _, r := range results {
		if n := len(groups); n > 0 && groups[n-1][0].Area == r.Area {
			groups[n-1] = append(groups[n-1], r)
		} else {
			groups = append(groups, []result{r})
		}
	}
	return groups
}

// evidenceLimit keeps a report readable.
const evidenceLimit = 1500

// ending makes a result of what a probe returned.
func ending(a area, p probe, began time.Time, err error) result {
	r := result{ID: p.id, Area: a.name, Title: p.title, Gain: p.gain, Control: p.control, Verdict: passed, Seconds: time.Since(began).Seconds()}
	if err != nil {
		r.Verdict, r.Evidence = failed, printable(err.Error())
		if len(r.Evidence) > evidenceLimit {
			r.Evidence = r.Evidence[:evidenceLimit] + "..."
		}
		if _, is := err.(*skip); is {
			r.Verdict = skipped
		}
	}
	return r
}

// printable spells out what a terminal would obey; lines stay.
func printable(s string) string {
	var b strings.Builder
	for _, r := range s {
		if r == '\n' || r == '\t' || r >= ' ' && r < 0x7f {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, "\\u%04x", r)
		}
	}
	return b.String()
}
