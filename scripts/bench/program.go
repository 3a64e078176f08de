//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// programMode as first argument makes this binary one of the programs that
// run on the terminals.
const programMode = "bench-program"

// quit as input ends every program.
const quit = 'Q'

// The modes.
const (
	modeLog  = "log"  // each 'g' of input writes N bytes of coloured log, then done(how many times)
	modeEcho = "echo" // writes what it reads
	modeExit = "exit" // writes when it ends, and ends, once it reads anything
)

const readyMark = "READY"

// done is what ends the n-th log. What is on a screen from the one before
// differs.
func done(n int) string { return fmt.Sprintf("END-OF-LOG-%d.", n) }

// program is the argument vector of a mode.
func (b *bench) program(mode string, bytes int) []string {
	return []string{b.self, programMode, mode, strconv.Itoa(bytes)}
}

func runProgram(args []string) int {
	if err := makeRaw(0); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	size, err := strconv.Atoi(args[1])
	if err != nil {
		return 1
	}
	var each func(p []byte)
	switch args[0] {
	case modeLog:
		block := colouredLog(1 << 20)
		logs := 0
		each = func(p []byte) {
			for range bytes.Count(p, []byte("g")) {
				logs++
				writeLog(os.Stdout, block, size)
				fmt.Printf("\x1b[0m\r\n%s\r\n", done(logs))
			}
		}
	case modeEcho:
		each = func(p []byte) { os.Stdout.Write(p) }
	case modeExit:
		each = func([]byte) {
			fmt.Printf("%d;", time.Now().UnixNano())
			os.Exit(0)
		}
	}
	fmt.Print(readyMark)
	buf := make([]byte, 4096)
	for {
		n, err := os.Stdin.Read(buf)
		if err != nil || bytes.IndexByte(buf[:n], quit) >= 0 {
			return 0
		}
		each(buf[:n])
	}
}

// makeRaw makes the terminal pass every byte unchanged, both ways.
func makeRaw(fd int) error {
	t, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("get terminal modes: %w", err)
	}
	t.Iflag, t.Oflag, t.Lflag = 0, 0, 0
	t.Cc[unix.VMIN], t.Cc[unix.VTIME] = 1, 0
	return unix.IoctlSetTermios(fd, unix.TCSETS, t)
}

// writeLog writes size bytes in parts, as a program with a buffer does.
func writeLog(w io.Writer, block []byte, size int) {
	const part = 32 << 10
	for size > 0 {
		for p := block; len(p) > 0 && size > 0; {
			n := min(part, len(p), size)
			if _, err := w.Write(p[:n]); err != nil {
				return
			}
			p, size = p[n:], size-n
		}
	}
}

// colouredLog is a build's log with colours, the same each time.
func colouredLog(size int) []byte {
	levels := []string{"\x1b[32mINFO\x1b[0m ", "\x1b[33mWARN\x1b[0m ", "\x1b[1;31mERROR\x1b[0m", "\x1b[2mDEBUG\x1b[0m"}
	words := []string{"compiled", "linked", "cache", "miss", "package", "request", "took", "naïve", "files", "→"}
	var b bytes.Buffer
	state := uint32(1)
	next := func(n int) int { // a linear congruential generator
		state = state*1664525 + 1013904223
		return int(state>>16) % n
	}
	for i := 0; b.Len() < size; i++ {
		fmt.Fprintf(&b, "\x1b[2m12:%02d:%02d\x1b[0m %s \x1b[38;5;%dm%s\x1b[0m", i/60%60, i%60, levels[next(4)], 16+next(200), words[next(10)])
		for range 4 + next(8) {
			b.WriteByte(' ')
			b.WriteString(words[next(10)])
		}
		fmt.Fprintf(&b, " \x1b[36m%d\x1b[0m ms\r\n", next(5000))
	}
	return b.Bytes()
}
