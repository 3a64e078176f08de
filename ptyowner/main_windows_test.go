package ptyowner_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"middleman/ptyowner/owner"
)

// The test binary is its own owner, as middleman is, the program of its sessions,
// and a starter that is killed.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 2 && os.Args[1] == "pty-owner":
		os.Exit(owner.Main(os.Args[2:], "test"))
	case len(os.Args) > 2 && os.Args[1] == "program":
		os.Exit(program(os.Args[2], os.Args[3:]))
	case len(os.Args) > 3 && os.Args[1] == "starter":
		os.Exit(starter(os.Args[2], os.Args[3]))
	}
	os.Exit(m.Run())
}

// self is the path of the test binary.
func self() string {
	path, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return path
}

// program is what runs on a pseudo console. It opens the console itself: under
// Wine it does not inherit it.
func program(what string, args []string) int {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return 101
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return 102
	}
	switch what {
	case "exit":
		fmt.Fprintf(out, "the last words\r\n")
		code, _ := strconv.Atoi(args[0])
		return code
	case "lines":
		return printLines(out, args[0])
	case "echo":
		return echo(in, out)
	case "tree":
		return tree(out, args[0])
	}
	return 103
}

// printLines prints numbered lines of 100 characters, and then waits.
func printLines(out *os.File, count string) int {
	n, _ := strconv.Atoi(count)
	buffered := bufio.NewWriterSize(out, 8<<10)
	for i := range n {
		fmt.Fprintf(buffered, "%08d %s\r\n", i, strings.Repeat(string(rune('a'+i%26)), 91))
	}
	fmt.Fprintf(buffered, "ALL PRINTED\r\n")
	if buffered.Flush() != nil {
		return 104
	}
	return 0
}

// echo prints each line that it reads, and ends at "exit N".
func echo(in, out *os.File) int {
	fmt.Fprintf(out, "ready\r\n")
	for lines := bufio.NewScanner(in); lines.Scan(); {
		text := strings.TrimSpace(lines.Text())
		if code, ok := strings.CutPrefix(text, "exit "); ok {
			n, _ := strconv.Atoi(code)
			return n
		}
		fmt.Fprintf(out, "<%s>\r\n", text)
	}
	return 105
}

// tree starts itself, that many deep. Each prints its pid and waits for ever.
func tree(out *os.File, deep string) int {
	n, _ := strconv.Atoi(deep)
	fmt.Fprintf(out, "pid %d.\r\n", os.Getpid())
	if n > 1 {
		child := exec.Command(self(), "program", "tree", strconv.Itoa(n-1))
		if err := child.Start(); err != nil {
			return 106
		}
	}
	time.Sleep(time.Hour) // select{} would be a deadlock, and end it
	return 107
}
