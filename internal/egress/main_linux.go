package egress

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
	"middleman/internal/private"
)

// proxySocket is the descriptor of the proxy process that leads to the sandbox.
const proxySocket = 3

// Main is the proxy process: see Start. It returns its exit code. Until the sandbox
// runs, an error is told to the process inside, which prints it.
func Main(args []string) int {
	private.NameProcess()
	conn, err := fileConn(os.NewFile(proxySocket, "sandbox"))
	if err != nil || len(args) != 0 {
		fmt.Fprintf(os.Stderr, "middleman: %s is run by sandbox-exec alone\n", helperCommand)
		return 2
	}
	defer conn.Close()
	// A stop sends these to each process of the session, and the program may need
	// its network until it has ended.
	signal.Ignore(unix.SIGHUP, unix.SIGINT, unix.SIGQUIT, unix.SIGTERM, unix.SIGUSR1, unix.SIGUSR2, unix.SIGALRM)
	p, err := configured(os.Stdin)
	if err == nil {
		err = run(conn, p)
	}
	if err != nil {
		return 1
	}
	return 0
}

// configured makes the proxy that the configuration in r describes.
func configured(r io.Reader) (*proxy, error) {
	raw, err := io.ReadAll(io.LimitReader(r, maxConfig))
	if err != nil {
		return nil, err
	}
	var c config
	if err := json.Unmarshal(raw, &c); err != nil {
		return nil, err
	}
	rules, err := Parse(c.Allow)
	if err != nil {
		return nil, err
	}
	p := newProxy(rules, newDenials(c.Log), usual)
	if c.Secrets != "" {
		if p.masks, err = takeMasks(c.Secrets); err != nil {
			return nil, err
		}
	}
	return p, private.Harden()
}

// takeMasks reads the secrets of a sandbox, and removes the file: from then on their
// values are in this process alone.
func takeMasks(file string) (Masks, error) {
	raw, err := private.ReadFile(file)
	if err != nil {
		return Masks{}, err
	}
	if err := os.Remove(file); err != nil {
		return Masks{}, err
	}
	return decodeMasks(raw)
}

// run serves a sandbox until it has ended. conn leads to its first process, which
// passes its network namespace and then waits for a line: empty, or an error.
func run(conn *net.UnixConn, p *proxy) error {
	_, fds, err := ipc.ReceiveFiles(conn, make([]byte, 1), 1)
	if err != nil {
		return err
	}
	defer ipc.CloseFiles(fds)
	if len(fds) != 1 {
		return errors.New("the sandbox passed no network namespace")
	}
	stop, err := newServer(p).enter(fds[0])
	if err != nil {
		_, tellErr := conn.Write([]byte(strings.ReplaceAll(clip(err.Error()), "\n", " ") + "\n"))
		return errors.Join(err, tellErr)
	}
	defer stop()
	if _, err := conn.Write([]byte("\n")); err != nil {
		return err
	}
	// The end of the sandbox is the end of this connection: process 1 of the
	// sandbox keeps it open. Nothing is to come; something that comes
	// is a program that meddles, and ends the proxy too.
	_, _ = conn.Read(make([]byte, 1))
	return nil
}

// enter opens the sockets in a network namespace and serves them. stop closes them.
func (s *server) enter(netns int) (stop func(), err error) {
	wanted := s.rules.sockets()
	fds, err := openIn(netns, wanted)
	if err != nil {
		return nil, err
	}
	files := make([]*os.File, len(fds))
	for i, fd := range fds {
		files[i] = os.NewFile(uintptr(fd), "socket inside")
		defer files[i].Close()
	}
	return s.start(wanted, files)
}

// start serves the sockets, which are in the order of wanted. stop closes them and
// all connections, and returns when nothing of them runs any more. The caller
// closes files.
func (s *server) start(wanted []socket, files []*os.File) (stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	var closers []io.Closer
	stop = func() {
		cancel()
		for _, c := range closers {
			c.Close()
		}
		s.closeAll()
		wg.Wait()
	}
	for i, f := range files {
		if wanted[i].Network == "udp" {
			c, err := net.FilePacketConn(f)
			if err != nil {
				stop()
				return nil, err
			}
			closers = append(closers, c)
			wg.Go(func() { s.serveDNS(c) })
			continue
		}
		l, err := net.FileListener(f)
		if err != nil {
			stop()
			return nil, err
		}
		closers = append(closers, l)
		wg.Go(func() { s.serve(ctx, l, s.handler(wanted[i])) })
	}
	return stop, nil
}

// handler is what carries the connections of a socket.
func (s *server) handler(of socket) func(context.Context, net.Conn) {
	switch at := of.Address; {
	case at.Addr() == loopback && at.Port() == dnsPort:
		return func(_ context.Context, c net.Conn) { s.handleDNS(c) }
	case at.Addr() == loopback && at.Port() == proxyPort:
		return s.handleProxy
	}
	return s.handleDirect
}
