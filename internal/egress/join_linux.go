package egress

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"middleman/internal/ipc"
)

// maxWord bounds what the proxy says to a sandbox: nothing, or why it cannot serve.
const maxWord = 4096

var errEnded = errors.New("the proxy has ended")

// joinProxy connects the sandbox that this process is in with its proxy: it passes the
// network namespace to the proxy and waits until that serves. It sets the variables
// that name the proxies in this process's environment. The descriptor is proxyLink.socket;
// joinProxy closes it. The caller executes the program afterwards.
func joinProxy(socket int) error {
	if err := handOver(socket); err != nil {
		return fmt.Errorf("connect the sandbox with the proxy of its network list: %w", err)
	}
	return setEnv()
}

func handOver(socket int) error {
	conn, err := fileConn(os.NewFile(uintptr(socket), "proxy"))
	if err != nil {
		return err
	}
	defer conn.Close()
	netns, err := unix.Open("/proc/self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("open the network namespace: %w", err)
	}
	defer unix.Close(netns)
	err = ipc.SendFiles(conn, []byte("\n"), netns)
	if errors.Is(err, unix.EPIPE) {
		return errEnded
	}
	if err != nil {
		return err
	}
	word, err := readWord(conn)
	if err != nil {
		return err
	}
	if word != "" {
		return errors.New(word)
	}
	return nil
}

// readWord reads a line.
func readWord(r io.Reader) (string, error) {
	buf := make([]byte, maxWord)
	n := 0
	for n < len(buf) {
		more, err := r.Read(buf[n:])
		n += more
		if line, _, ok := bytes.Cut(buf[:n], []byte{'\n'}); ok {
			return string(line), nil
		}
		if errors.Is(err, io.EOF) {
			return "", errEnded
		}
		if err != nil {
			return "", err
		}
	}
	return "", errors.New("the proxy says too much")
}

// fileConn makes a connection of the socket f, and closes f.
func fileConn(f *os.File) (*net.UnixConn, error) {
	defer f.Close()
	c, err := net.FileConn(f)
	if err != nil {
		return nil, err
	}
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("%s is no Unix socket", f.Name()), c.Close())
	}
	return conn, nil
}
