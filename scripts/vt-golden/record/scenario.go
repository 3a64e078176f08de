//go:build unix

package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// step is one line of a scenario:
//
//	size COLSxROWS      first line: the size of the terminal
//	run COMMAND         what sh -c runs, in the prepared home directory
//	wait "TEXT"         until TEXT is printed (1 min at most)
//	quiet DURATION      until something was printed and then nothing for that long
//	pass DURATION       let the program run for that long
//	send "KEYS"         type; the syntax of Go strings
//	resize COLSxROWS    give the terminal another size
//	check               a golden of the screen at this point
//	exit                until the program has ended (1 min at most)
type step struct {
	op         string
	text       string
	cols, rows uint16
	pause      time.Duration
}

func parseScenario(text string) ([]step, error) {
	var steps []step
	for i, line := range strings.Split(text, "\n") {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parseStep(line)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", i+1, err)
		}
		steps = append(steps, s)
	}
	if len(steps) < 2 || steps[0].op != "size" || steps[1].op != "run" {
		return nil, fmt.Errorf("a scenario begins with size and run")
	}
	return steps, nil
}

func parseStep(line string) (step, error) {
	op, rest, _ := strings.Cut(line, " ")
	s := step{op: op}
	var err error
	switch op {
	case "size", "resize":
		_, err = fmt.Sscanf(rest, "%dx%d", &s.cols, &s.rows)
	case "run":
		s.text = rest
	case "wait", "send":
		s.text, err = strconv.Unquote(rest)
	case "quiet", "pass":
		s.pause, err = time.ParseDuration(rest)
	case "check", "exit":
	default:
		err = fmt.Errorf("unknown step")
	}
	if err != nil {
		return s, fmt.Errorf("%s: %w", line, err)
	}
	return s, nil
}
