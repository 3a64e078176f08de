package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// program is what scripts run in sessions.
//
//	program stream SEED BYTES GATE   printable bytes; waits for input after GATE
//	program burst BYTES CODE         so many bytes, and exits at once
//	program query                    asks the terminal where its cursor is, and says what came
//	program socket PATH              makes a Unix socket and leaves it behind
//	program dialog PATH              see dialog
func program() {
	if err := runProgram(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "program:", err)
		os.Exit(1)
	}
}

func runProgram(args []string) error {
	if len(args) == 2 && args[0] == "socket" {
		return leaveSocket(args[1])
	}
	if len(args) == 2 && args[0] == "dialog" {
		return dialog(args[1])
	}
	if len(args) == 2 && args[0] == "composer" {
		return composer(args[1])
	}
	if err := rawOutput(); err != nil {
		return err
	}
	switch {
	case len(args) == 4 && args[0] == "stream":
		seed, err := strconv.ParseUint(args[1], 10, 64)
		total, err2 := strconv.ParseInt(args[2], 10, 64)
		gate, err3 := strconv.ParseInt(args[3], 10, 64)
		if err := errors.Join(err, err2, err3); err != nil {
			return err
		}
		return stream(seed, total, gate)
	case len(args) == 3 && args[0] == "burst":
		n, err := strconv.Atoi(args[1])
		code, err2 := strconv.Atoi(args[2])
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		_, err = io.CopyN(os.Stdout, newRandomText(uint64(n)), int64(n))
		if err == nil {
			os.Exit(code)
		}
		return err
	case len(args) == 1 && args[0] == "query":
		return query()
	}
	return fmt.Errorf("no such program: %q", args)
}

// leaveSocket makes a socket, as that of an SSH agent is one. Nobody listens.
func leaveSocket(path string) error {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	return l.Close()
}

// stream writes total bytes. After gate of them it waits for one byte typed.
func stream(seed uint64, total, gate int64) error {
	src := newRandomText(seed)
	if _, err := io.CopyN(os.Stdout, src, gate); err != nil {
		return err
	}
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return err
	}
	_, err := io.CopyN(os.Stdout, src, total-gate)
	return err
}

// query asks for the cursor's position and reports each answer.
func query() error {
	fmt.Print("ask\x1b[6n\r\n")
	in := bufio.NewReader(os.Stdin)
	for {
		answer, err := in.ReadString('R')
		if err != nil {
			return err
		}
		fmt.Printf("answer %q\r\n", answer)
	}
}

// rawOutput turns off what a terminal does to output and input, so that the
// session's bytes are the program's.
func rawOutput() error {
	t, err := unix.IoctlGetTermios(0, unix.TCGETS)
	if err != nil {
		return fmt.Errorf("read terminal settings: %w", err)
	}
	t.Oflag &^= unix.OPOST
	t.Lflag &^= unix.ECHO | unix.ICANON
	return unix.IoctlSetTermios(0, unix.TCSETS, t)
}

// randomText is an endless pseudo-random text in lines, the same for a seed.
type randomText struct {
	state  uint64
	column int
}

func newRandomText(seed uint64) *randomText { return &randomText{state: seed*2862933555777941757 + 1} }

func (r *randomText) Read(p []byte) (int, error) {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range p {
		switch r.column {
		case 76:
			p[i] = '\r'
		case 77:
			p[i] = '\n'
			r.column = -1
		default:
			r.state ^= r.state << 13
			r.state ^= r.state >> 7
			r.state ^= r.state << 17
			p[i] = letters[r.state>>58]
		}
		r.column++
	}
	return len(p), nil
}
