package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// copyBuffer is how much is copied at once.
const copyBuffer = 32 << 10

// carrier is what both directions of a connection share.
type carrier struct {
	idle time.Duration

	mu    sync.Mutex // guards all below
	moved time.Time  // when bytes last went in either direction
}

func (c *carrier) touch() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.moved = time.Now()
}

// left is how much of the idle time remains.
func (c *carrier) left() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Until(c.moved.Add(c.idle))
}

// copy copies from a connection to dst until the end, and then ends dst's
// direction. After an error, and when nothing moves, it closes both. source reads
// what from has.
func (c *carrier) copy(dst net.Conn, source io.Reader, from net.Conn) {
	buf := make([]byte, copyBuffer)
	for {
		err := from.SetReadDeadline(time.Now().Add(c.left()))
		n := 0
		if err == nil {
			n, err = source.Read(buf)
		}
		if n > 0 && !c.write(dst, buf[:n]) {
			break
		}
		if errors.Is(err, io.EOF) {
			if half, ok := dst.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
				dst.Close()
			}
			return
		}
		if err != nil && (!errors.Is(err, os.ErrDeadlineExceeded) || c.left() <= 0) {
			break
		}
	}
	reset(dst)
	reset(from)
}

// write writes p to a connection, whose other end must take it within the idle
// time.
func (c *carrier) write(dst net.Conn, p []byte) bool {
	c.touch()
	if dst.SetWriteDeadline(time.Now().Add(c.idle)) != nil {
		return false
	}
	_, err := dst.Write(p)
	return err == nil
}
