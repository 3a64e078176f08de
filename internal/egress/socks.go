package egress

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
)

// The parts of SOCKS5 that the proxy speaks (RFC 1928).
const (
	socksVersion = 5
	socksConnect = 1
	socksNoAuth  = 0
	socksNone    = 0xff // no method that the client offers is acceptable

	socksIPv4 = 1
	socksName = 3
	socksIPv6 = 4

	socksDone        = 0
	socksDenied      = 2
	socksUnreachable = 4
	socksNoCommand   = 7
	socksNoAddress   = 8
)

// socksError is a request that is answered with a code.
type socksError struct{ code byte }

func (socksError) Error() string { return "a SOCKS request that is not supported" }

// handleSOCKS serves a client of the SOCKS5 proxy: CONNECT only, without
// authentication. r reads from c.
func (s *server) handleSOCKS(ctx context.Context, c net.Conn, r *bufio.Reader) {
	if err := greet(r, c); err != nil {
		return
	}
	host, port, err := readSOCKS(r)
	if err != nil {
		if refused, ok := errors.AsType[socksError](err); ok {
			s.log.add("socks", "", "only CONNECT to a name or an address is supported")
			replySOCKS(c, refused.code)
		}
		return
	}
	t, err := parseTarget(host, port)
	if err != nil {
		s.log.add("socks", host, "not a valid host")
		replySOCKS(c, socksDenied)
		return
	}
	up, err := s.reach(ctx, c, "socks", t)
	switch {
	case errors.Is(err, errDenied):
		replySOCKS(c, socksDenied)
		return
	case err != nil:
		replySOCKS(c, socksUnreachable)
		return
	}
	if !replySOCKS(c, socksDone) {
		up.Close()
		return
	}
	s.relay(c, r, up, t)
}

// greet reads the methods that a client offers, and chooses the one without
// authentication.
func greet(r io.Reader, w io.Writer) error {
	head := make([]byte, 2)
	if _, err := io.ReadFull(r, head); err != nil {
		return err
	}
	methods := make([]byte, head[1])
	if _, err := io.ReadFull(r, methods); err != nil {
		return err
	}
	for _, m := range methods {
		if m == socksNoAuth {
			_, err := w.Write([]byte{socksVersion, socksNoAuth})
			return err
		}
	}
	_, err := w.Write([]byte{socksVersion, socksNone})
	return errors.Join(errors.New("the client wants to log in"), err)
}

// readSOCKS reads a request. The host is as it came: a name with any bytes, or an
// address in its usual spelling. After a socksError the client can be told its code.
func readSOCKS(r io.Reader) (host string, port uint16, err error) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", 0, err
	}
	if head[0] != socksVersion || head[2] != 0 {
		return "", 0, errors.New("no SOCKS5 request")
	}
	size := 0
	switch head[3] {
	case socksIPv4:
		size = net.IPv4len
	case socksIPv6:
		size = net.IPv6len
	case socksName:
		length := make([]byte, 1)
		if _, err := io.ReadFull(r, length); err != nil {
			return "", 0, err
		}
		size = int(length[0])
	default:
		return "", 0, socksError{socksNoAddress}
	}
	rest := make([]byte, size+2)
	if _, err := io.ReadFull(r, rest); err != nil {
		return "", 0, err
	}
	if head[1] != socksConnect {
		return "", 0, socksError{socksNoCommand}
	}
	host, port = string(rest[:size]), binary.BigEndian.Uint16(rest[size:])
	if addr, ok := netip.AddrFromSlice(rest[:size]); ok && head[3] != socksName {
		if addr = addr.Unmap(); addr.Is4() {
			return addr.String(), port, nil
		}
		return "[" + addr.String() + "]", port, nil
	}
	return host, port, nil
}

// replySOCKS sends the reply to a request, with no bound address.
func replySOCKS(c net.Conn, code byte) bool {
	_, err := c.Write([]byte{socksVersion, code, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
	return err == nil
}
