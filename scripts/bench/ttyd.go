//go:build linux

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// openTtyd is a program behind ttyd and a WebSocket. Its protocol: messages
// begin with a byte that says what they are, '0' for bytes of the terminal.
func openTtyd(b *bench, argv []string) (*view, error) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	port := free.Addr().(*net.TCPAddr).Port
	free.Close()
	cmd := exec.Command("ttyd", append([]string{"-W", "-o", "-i", "127.0.0.1", "-p", strconv.Itoa(port)}, argv...)...)
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), "MIDDLEMAN_BENCH="+b.dir) // by which endLeft knows it
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	end := func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	}
	conn, err := dialTtyd(b.ctx, port)
	if err != nil {
		end()
		return nil, err
	}
	hello := fmt.Appendf(nil, `{"AuthToken":"","columns":%d,"rows":%d}`, b.size.Cols, b.size.Rows)
	if err := conn.Write(b.ctx, websocket.MessageBinary, hello); err != nil {
		end()
		return nil, err
	}
	return &view{
		read: func() ([]byte, error) {
			for {
				_, p, err := conn.Read(b.ctx)
				if err != nil {
					return nil, err
				}
				if len(p) > 0 && p[0] == '0' {
					return p[1:], nil
				}
			}
		},
		write: func(p []byte) error {
			return conn.Write(b.ctx, websocket.MessageBinary, append([]byte{'0'}, p...))
		},
		close: sync.OnceFunc(func() {
			conn.CloseNow()
			end()
		}),
	}, nil
}

// dialTtyd tries until it listens: it says so nowhere.
func dialTtyd(ctx context.Context, port int) (*websocket.Conn, error) {
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, _, err := websocket.Dial(ctx, fmt.Sprintf("ws://127.0.0.1:%d/ws", port), &websocket.DialOptions{Subprotocols: []string{"tty"}})
		if err == nil {
			conn.SetReadLimit(64 << 20)
			return conn, nil
		}
		if time.Now().After(deadline) {
			return nil, err
		}
	}
}
