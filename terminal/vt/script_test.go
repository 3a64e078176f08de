package vt

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A script is a case or a recording: what a terminal is given, and where its
// screen is looked at. testdata/README.md describes both forms.
type script struct {
	name  string // path below testdata, without its ending
	steps []scriptStep
}

type scriptStep struct {
	op         string // size, resize, feed or check
	cols, rows int
	bytes      []byte
}

func (s script) recording() bool { return strings.HasPrefix(s.name, "recordings/") }

// size is the one to begin with.
func (s script) size() (cols, rows int) { return s.steps[0].cols, s.steps[0].rows }

// loadCases reads all of testdata/cases.
func loadCases(t testing.TB) []script {
	t.Helper()
	return loadScripts(t, "testdata/cases", ".case", func(b []byte) ([]scriptStep, error) {
		return parseCase(string(b))
	})
}

// loadRecordings reads all of testdata/recordings.
func loadRecordings(t testing.TB) []script {
	t.Helper()
	return loadScripts(t, "testdata/recordings", ".rec.gz", func(b []byte) ([]scriptStep, error) {
		raw, err := gunzip(b)
		if err != nil {
			return nil, err
		}
		return parseRecording(raw)
	})
}

func loadScripts(t testing.TB, dir, ending string, parse func([]byte) ([]scriptStep, error)) []script {
	t.Helper()
	var scripts []script
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ending) {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		steps, err := parse(b)
		if err != nil {
			return fmt.Errorf("parse %s: %w", path, err)
		}
		name := strings.TrimPrefix(filepath.ToSlash(path), "testdata/")
		scripts = append(scripts, script{strings.TrimSuffix(name, ending), steps})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return scripts
}

func gunzip(b []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	raw, err := io.ReadAll(r)
	if err != nil {
		return nil, fmt.Errorf("decompress: %w", err)
	}
	return raw, nil
}

func parseCase(text string) ([]scriptStep, error) {
	var steps []scriptStep
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		step, err := parseCaseLine(line)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", line, err)
		}
		steps = append(steps, step)
	}
	return closeScript(steps)
}

func parseCaseLine(line string) (scriptStep, error) {
	op, rest, _ := strings.Cut(line, " ")
	switch op {
	case "feed":
		text, err := strconv.Unquote(rest)
		return scriptStep{op: "feed", bytes: []byte(text)}, err
	case "repeat":
		number, literal, _ := strings.Cut(rest, " ")
		n, err := strconv.Atoi(number)
		if err != nil {
			return scriptStep{}, err
		}
		text, err := strconv.Unquote(literal)
		return scriptStep{op: "feed", bytes: bytes.Repeat([]byte(text), n)}, err
	case "count":
		return parseCount(rest)
	}
	return parseMark(op, rest)
}

// parseCount reads `1 9 "line %d"`: the text once for each number.
func parseCount(rest string) (scriptStep, error) {
	var from, to int
	if _, err := fmt.Sscanf(rest, "%d %d", &from, &to); err != nil {
		return scriptStep{}, err
	}
	text, err := strconv.Unquote(rest[strings.IndexByte(rest, '"'):])
	if err != nil {
		return scriptStep{}, err
	}
	var b []byte
	for i := from; i <= to; i++ {
		b = append(b, strings.ReplaceAll(text, "%d", strconv.Itoa(i))...)
	}
	return scriptStep{op: "feed", bytes: b}, nil
}

func parseMark(op, rest string) (scriptStep, error) {
	step := scriptStep{op: op}
	switch op {
	case "size", "resize":
		_, err := fmt.Sscanf(rest, "%dx%d", &step.cols, &step.rows)
		return step, err
	case "check":
		return step, nil
	}
	return step, fmt.Errorf("unknown step %q", op)
}

func parseRecording(b []byte) ([]scriptStep, error) {
	var steps []scriptStep
	for len(b) > 0 {
		line, rest, _ := bytes.Cut(b, []byte("\n"))
		op, arg, _ := strings.Cut(string(line), " ")
		if op == "data" {
			n, err := strconv.Atoi(arg)
			if err != nil || n > len(rest) {
				return nil, fmt.Errorf("data %s: more than there is", arg)
			}
			steps = append(steps, scriptStep{op: "feed", bytes: rest[:n]})
			b = rest[n:]
			continue
		}
		step, err := parseMark(op, arg)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
		b = rest
	}
	return closeScript(steps)
}

// closeScript checks the beginning and looks at the screen at the end.
func closeScript(steps []scriptStep) ([]scriptStep, error) {
	if len(steps) == 0 || steps[0].op != "size" {
		return nil, fmt.Errorf("a script begins with its size")
	}
	if steps[len(steps)-1].op != "check" {
		steps = append(steps, scriptStep{op: "check"})
	}
	return steps, nil
}
