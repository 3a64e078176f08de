package runtime

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"

	"github.com/hashicorp/yamux"
)

// maxBridged bounds the connections that a hub has through one Bridge.
const maxBridged = 512

// Bridge is the other end of an ssh dialer. It greets on out, and joins each
// stream that comes by in to a connection that dial makes. It returns when in
// ends, once all of them have ended; then the error is nil. It closes in and out.
func Bridge(ctx context.Context, in io.ReadCloser, out io.WriteCloser, version string, dial func(context.Context) (net.Conn, error)) error {
	if f, ok := in.(*os.File); ok {
		in = polled(f)
	}
	if _, err := out.Write(newGreeting(version)); err != nil {
		return fmt.Errorf("greet: %w", err)
	}
	mux, err := yamux.Server(&whole{ReadWriteCloser: streams{in, out}}, muxConfig())
	if err != nil {
		return err
	}
	stop := context.AfterFunc(ctx, func() { mux.Close() })
	defer stop()
	var joined sync.WaitGroup
	defer joined.Wait()
	defer mux.Close() // wakes them
	open := make(chan struct{}, maxBridged)
	for {
		stream, err := mux.AcceptStream()
		switch {
		case ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, yamux.ErrSessionShutdown):
			return nil
		case err != nil:
			return fmt.Errorf("take a connection: %w", err)
		}
		select {
		case open <- struct{}{}:
		default:
			stream.Close() // no hub needs so many
			continue
		}
		joined.Go(func() {
			defer func() { <-open }()
			defer stream.Close()
			conn, err := dial(ctx)
			if err != nil {
				return // the hub sees its connection end
			}
			join(stream, conn)
		})
	}
}

// streams are the two ends of a pipe as one.
type streams struct {
	io.ReadCloser
	out io.WriteCloser
}

func (s streams) Write(p []byte) (int, error) { return s.out.Write(p) }

func (s streams) Close() error { return errors.Join(s.ReadCloser.Close(), s.out.Close()) }

// join copies both ways until both have ended, and closes both.
func join(a, b net.Conn) {
	var copied sync.WaitGroup
	one := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		half, can := to.(interface{ CloseWrite() error })
		if err == nil && can {
			half.CloseWrite()
			return
		}
		to.Close() // a stream of yamux can still be read then
	}
	copied.Go(func() { one(a, b) })
	copied.Go(func() { one(b, a) })
	copied.Wait()
	a.Close()
	b.Close()
}
