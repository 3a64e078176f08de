//go:build unix

package tmux

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"middleman/terminal"
)

// viewed is a viewer of a shell script, through our backend or, for
// comparison, by tmux alone.
type viewed struct {
	read  func() []byte
	write func(p []byte)
}

// eachViewed runs a benchmark for our backend and for plain tmux with the
// user's defaults, on the same kind of PTY.
func eachViewed(b *testing.B, script string, run func(b *testing.B, v viewed)) {
	b.Run("middleman", func(b *testing.B) { run(b, viewBackend(b, script)) })
	b.Run("tmux", func(b *testing.B) { run(b, viewPlain(b, script)) })
}

func viewBackend(b *testing.B, script string) viewed {
	s := start(b, newBackend(b), script)
	a, err := s.Attach(testContext(b), terminal.AttachOptions{Mode: terminal.ModeAttach, Size: terminal.DefaultSize})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { a.Close() })
	return viewed{
		read: func() []byte {
			m, err := a.Receive()
			if err != nil {
				b.Fatal(err)
			}
			return m.Data
		},
		write: func(p []byte) {
			if err := a.Input(p); err != nil {
				b.Fatal(err)
			}
		},
	}
}

func viewPlain(b *testing.B, script string) viewed {
	needTmux(b)
	srv := server{tmux: "tmux", socket: filepath.Join(shortDir(b), "plain.sock"), config: os.DevNull}
	if _, err := srv.run(testContext(b), nil, "new-session", "-d", "-s", "plain", "-x", "80", "-y", "25",
		"--", "/bin/sh", "-c", script); err != nil {
		b.Fatal(err)
	}
	master, slave, err := openPTY(terminal.Size{Cols: 80, Rows: 25})
	if err != nil {
		b.Fatal(err)
	}
	cmd := srv.command(context.Background(), "attach-session", "-t", "plain")
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = slave, slave, slave, clientAttr()
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	slave.Close()
	b.Cleanup(func() {
		srv.run(context.Background(), nil, "kill-server")
		master.Close()
		cmd.Wait()
	})
	buf := make([]byte, readSize)
	return viewed{
		read: func() []byte {
			n, err := master.Read(buf)
			if err != nil {
				b.Fatal(err)
			}
			return buf[:n]
		},
		write: func(p []byte) {
			if _, err := master.Write(p); err != nil {
				b.Fatal(err)
			}
		},
	}
}

// until reads until text has come. It may be cut by reads.
func (v viewed) until(text string) {
	var tail []byte
	for {
		tail = append(tail, v.read()...)
		if bytes.Contains(tail, []byte(text)) {
			return
		}
		tail = bytes.Clone(tail[max(0, len(tail)-len(text)):])
	}
}

func BenchmarkEcho(b *testing.B) {
	eachViewed(b, "stty raw -echo; echo READY; exec cat", func(b *testing.B, v viewed) {
		v.until("READY")
		for i := 0; b.Loop(); i++ {
			key := "0123456789"[i%10 : i%10+1]
			v.write([]byte(key))
			v.until(key)
		}
	})
}

func BenchmarkThroughput(b *testing.B) {
	const n = 64 << 20
	eachViewed(b, "stty -echo; echo READY; i=0; while read x; do yes 'a line of some log, with words in it and 0123456789' | "+
		"head -c 67108864; echo DONE$i.; i=$((i+1)); done", func(b *testing.B, v viewed) {
		v.until("READY")
		b.SetBytes(n)
		for i := 0; b.Loop(); i++ {
			v.write([]byte("\r"))
			v.until(fmt.Sprintf("DONE%d.", i))
		}
	})
}

// BenchmarkStart is a session's start to its return, BenchmarkExit from the
// program's end to its record.
func BenchmarkStart(b *testing.B) {
	backend := newBackend(b)
	for b.Loop() {
		start(b, backend, "read x")
	}
}

func BenchmarkExit(b *testing.B) {
	backend := newBackend(b)
	var sum time.Duration
	for b.Loop() {
		s := start(b, backend, "exit 7")
		eventually(b, "exit", func() bool { exit, _ := s.dir.exit(); return exit != nil })
		exit, err := s.dir.exit()
		if err != nil {
			b.Fatal(err)
		}
		info, err := os.Stat(s.dir.path(exitFile))
		if err != nil {
			b.Fatal(err)
		}
		sum += info.ModTime().Sub(exit.Time)
	}
	b.ReportMetric(float64(sum.Milliseconds())/float64(b.N), "ms/exit")
}
