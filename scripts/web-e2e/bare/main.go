// Command bare serves a page that has xterm.js and nothing else, on the terminal
// of a program that each visit starts. figures.mjs compares the web client with it.
//
// Usage: bare VENDORED COMMAND, with the directory of the vendored libraries and a
// command for sh. It prints the address of the page, and ends with its standard input.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"

	"github.com/coder/websocket"
	"github.com/creack/pty"
)

//go:embed page.html
var page []byte

// window is how many messages run ahead of what the page has drawn: xterm.js
// drops what it is handed beyond 50 MB.
const window = 16

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: bare VENDORED COMMAND")
		os.Exit(2)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "bare:", err)
		os.Exit(1)
	}
	fmt.Printf("http://%s/\n", listener.Addr())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	http.Handle("GET /vendored/", http.StripPrefix("/vendored/", http.FileServer(http.Dir(os.Args[1]))))
	http.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(page) })
	http.HandleFunc("GET /terminal", func(w http.ResponseWriter, r *http.Request) {
		if err := serve(w, r, os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, "bare:", err)
		}
	})
	fmt.Fprintln(os.Stderr, "bare:", http.Serve(listener, nil))
	os.Exit(1)
}

// serve runs the command until its page has left. A text message of the page
// says that it has drawn a message of ours; the others are input.
func serve(w http.ResponseWriter, r *http.Request, command string) error {
	conn, err := websocket.Accept(w, r, nil) // of its own pages alone
	if err != nil {
		return err
	}
	defer conn.CloseNow()
	cols, _ := strconv.ParseUint(r.FormValue("cols"), 10, 16)
	rows, _ := strconv.ParseUint(r.FormValue("rows"), 10, 16)
	cmd := exec.Command("sh", "-c", command)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)})
	if err != nil {
		return err
	}
	drawn := make(chan struct{}, window)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		send(r.Context(), conn, terminal, drawn)
	}()
	for {
		kind, p, err := conn.Read(r.Context())
		if err != nil {
			break
		}
		if kind == websocket.MessageBinary {
			_, _ = terminal.Write(p)
		} else {
			<-drawn
		}
	}
	terminal.Close() // a program that reads or writes ends
	for range len(drawn) {
		<-drawn
	}
	<-ended
	return cmd.Wait()
}

func send(ctx context.Context, conn *websocket.Conn, terminal io.Reader, drawn chan<- struct{}) {
	buffer := make([]byte, 64<<10)
	for {
		n, err := terminal.Read(buffer)
		if err != nil {
			return
		}
		drawn <- struct{}{}
		if conn.Write(ctx, websocket.MessageBinary, buffer[:n]) != nil {
			return
		}
	}
}
