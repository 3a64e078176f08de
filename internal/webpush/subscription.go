package webpush

import (
	"crypto/ecdh"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"middleman/internal/egress"
	"middleman/internal/store"
)

const (
	maxEndpoint = 2048
	authSize    = 16 // RFC 8291, 3.2
)

// Check refuses a subscription that nothing can, or shall, be sent to. With private,
// the service may have a private address, and use http at a loopback address.
func Check(s store.Subscription, private bool) error {
	if _, err := ecdh.P256().NewPublicKey(s.Key); err != nil {
		return errors.New("key: it must be an uncompressed point of P-256")
	}
	if len(s.Auth) != authSize {
		return fmt.Errorf("auth: it has %d bytes and must have %d", len(s.Auth), authSize)
	}
	_, err := parseEndpoint(s.Endpoint, private)
	return err
}

// parseEndpoint parses the URL of a push service. A host that is a name is judged by
// its addresses, when they are connected to.
func parseEndpoint(text string, private bool) (*url.URL, error) {
	if len(text) > maxEndpoint {
		return nil, fmt.Errorf("endpoint: it has %d bytes and may have %d", len(text), maxEndpoint)
	}
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || u.Opaque != "" || u.User != nil || u.Fragment != "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("endpoint: it must be the URL of a push service")
	}
	if port, err := strconv.Atoi(u.Port()); u.Port() != "" && (err != nil || port < 1 || port > 65535) {
		return nil, fmt.Errorf("endpoint: %q is no port", u.Port())
	}
	address, err := netip.ParseAddr(u.Hostname())
	plain := u.Scheme == "http" && private && err == nil && address.IsLoopback()
	if u.Scheme != "https" && !plain {
		return nil, errors.New("endpoint: it must begin with https://")
	}
	if err == nil {
		if err := mayReach(address, private); err != nil {
			return nil, fmt.Errorf("endpoint: %w", err)
		}
	}
	return u, nil
}

// mayReach refuses an address that is not public; with private, one that is not even
// that of a machine near by.
func mayReach(a netip.Addr, private bool) error {
	switch what, local, err := egress.ClassifyHere(a); {
	case err != nil:
		return err
	case what == "" || local && private:
		return nil
	case local:
		return fmt.Errorf("%s is a %s address: the setting notify.push_private allows it", a, what)
	default:
		return fmt.Errorf("%s is a %s address", a, what)
	}
}
