package runtime

import (
	"bytes"
	"io"
	"net"
	"testing"

	"github.com/hashicorp/yamux"
)

// counted counts the writes to a connection that have the text.
type counted struct {
	net.Conn
	text  []byte
	alone int // writes of the text without the header before it
}

func (c *counted) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, c.text) {
		c.alone++
	}
	return c.Conn.Write(p)
}

// A frame of yamux is written at once, whatever its size below the bound, and the other
// end gets what was sent.
func TestFramesAreWrittenAtOnce(t *testing.T) {
	near, far := net.Pipe()
	c := &counted{Conn: near, text: []byte("key")}
	client, err := yamux.Client(&whole{ReadWriteCloser: c}, muxConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	server, err := yamux.Server(&whole{ReadWriteCloser: far}, muxConfig())
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	stream, err := client.OpenStream()
	if err != nil {
		t.Fatal(err)
	}
	there, err := server.AcceptStream()
	if err != nil {
		t.Fatal(err)
	}
	for _, size := range []int{3, 12, 4096, maxWhole, maxWhole + 1, 3 * maxWhole} {
		want := append([]byte("key"), bytes.Repeat([]byte{0, 1, 2}, size/3)...)
		c.alone = 0
		go func() { _, _ = stream.Write(want) }() // an error shows at the other end
		got := make([]byte, len(want))
		if _, err := io.ReadFull(there, got); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("%d bytes: %v, the same: %v", len(want), err, bytes.Equal(got, want))
		}
		if c.alone > 0 && len(want) <= maxWhole {
			t.Errorf("%d bytes: the body was written alone", len(want))
		}
	}
}
