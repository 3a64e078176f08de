//go:build unix

package backendtest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"testing"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

const programArg = "backendtest-program"

// IsProgram reports whether this process was started as one of the suite's
// programs.
func IsProgram() bool { return len(os.Args) > 2 && os.Args[1] == programArg }

// Main runs the program and returns its exit code.
func Main() int {
	var err error
	switch arg := os.Args[3:]; os.Args[2] {
	case "stream":
		err = streamProgram(os.Stdout, arg)
	case "paint":
		err = paintProgram(os.Stdin, os.Stdout, arg)
	case "size":
		err = sizeProgram(os.Stdout)
	case "dialog":
		err = dialogProgram(os.Stdin, os.Stdout, arg[0])
	default:
		err = fmt.Errorf("no program %q", os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// program returns the argument vector of one of Main's programs.
func program(t testing.TB, args ...string) []string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{exe, programArg}, args...)
}

// streamProgram prints stream(n, seed).
func streamProgram(w io.Writer, args []string) error {
	n, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	seed, err := strconv.ParseUint(args[1], 10, 64)
	if err != nil {
		return err
	}
	b := bufio.NewWriterSize(w, 32<<10)
	if _, err := b.Write(stream(n, seed)); err != nil {
		return err
	}
	return b.Flush()
}

// stream returns n pseudo-random printable bytes in lines of uneven length.
func stream(n int, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 3))
	b := make([]byte, 0, n)
	for len(b) < n {
		x := r.Uint64()
		for range 8 {
			b = append(b, ' '+byte(x)%95)
			x >>= 8
		}
		if x := r.Uint32(); x%9 == 0 {
			b = append(b, '\n')
		}
	}
	return b[:n]
}

// onTerminal is what a terminal makes of lines.
func onTerminal(p []byte) []byte { return bytes.ReplaceAll(p, []byte("\n"), []byte("\r\n")) }

// sizeProgram prints the terminal's size, and again whenever it changes, until
// its input ends or a line comes.
func sizeProgram(w io.Writer) error {
	changed := make(chan os.Signal, 1)
	signal.Notify(changed, unix.SIGWINCH)
	line := make(chan error, 1)
	go func() { // ends with the process
		_, err := bufio.NewReader(os.Stdin).ReadString('\n')
		line <- err
	}()
	for {
		size, err := pty.GetsizeFull(os.Stdin)
		if err != nil {
			return err
		}
		fmt.Fprintf(w, "size %dx%d.\r\n", size.Cols, size.Rows)
		select {
		case <-changed:
		case err := <-line:
			return err
		}
	}
}
