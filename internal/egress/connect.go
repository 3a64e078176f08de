package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"
)

const (
	// dialTime is how long one address may take to answer.
	dialTime = 15 * time.Second
	// resolveTime is how long a name may take to resolve.
	resolveTime = 15 * time.Second
	// maxAddresses is how many addresses of a name are tried.
	maxAddresses = 4
)

// errDenied is in the error of a connection that the list does not allow.
var errDenied = errors.New("denied")

// proxy decides and connects. Its fields do not change while it serves.
type proxy struct {
	rules   Rules
	machine string // its name, which programs look up at start
	log     *denials
	names   *names
	limits  limits
	masks   Masks          // the secrets of this sandbox
	roots   *x509.CertPool // of hosts with secrets, nil for those of the system
	resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	dial    func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
	// networks are those of this machine.
	networks func() ([]netip.Prefix, error)
}

func newProxy(r Rules, log *denials, l limits) *proxy {
	return &proxy{rules: r, machine: machineName(), log: log, names: newNames(r), limits: l, resolve: resolve, dial: dial, networks: ownNetworks}
}

// machineName is the name of this machine, "" if it has none that is a host name.
func machineName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	name, err = canonical(name)
	if err != nil {
		return ""
	}
	return name
}

// resolve asks the machine's resolver. The dot at the end keeps it from adding a
// search domain.
func resolve(ctx context.Context, name string) ([]netip.Addr, error) {
	return net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
}

func dial(ctx context.Context, addr netip.AddrPort) (net.Conn, error) {
	d := net.Dialer{Timeout: dialTime}
	return d.DialContext(ctx, "tcp", addr.String())
}

// connect connects to a target if the list allows it: it resolves the name once,
// checks each address, and dials only those. An error that is errDenied was logged.
func (p *proxy) connect(ctx context.Context, via string, t target) (net.Conn, error) {
	e, ok := p.rules.match(t)
	if !ok {
		return nil, p.deny(via, t.String(), "no entry of the network list allows it")
	}
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		var err error
		if addrs, err = p.addresses(ctx, via, t, e); err != nil {
			return nil, err
		}
	}
	var errs []error
	for _, a := range addrs {
		c, err := p.dial(ctx, netip.AddrPortFrom(a, t.port))
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("connect to %s: %w", t, errors.Join(errs...))
}

// addresses resolves the name of a target, and returns the addresses that its
// entry allows.
func (p *proxy) addresses(ctx context.Context, via string, t target, e entry) (allowed []netip.Addr, err error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	addrs, err := p.resolve(ctx, t.name)
	if err != nil {
		return nil, fmt.Errorf("resolve %s: %w", t.name, err)
	}
	rule := ""
	for _, a := range addrs {
		a = a.Unmap()
		what, local, err := p.classify(a)
		if err != nil {
			return nil, fmt.Errorf("find this machine's networks: %w", err)
		}
		if what == "" || local && e.private {
			allowed = append(allowed, a)
			continue
		}
		rule = fmt.Sprintf("%s leads to the %s address %s", t.name, what, a)
		if local {
			rule += fmt.Sprintf(`; "%s %s" would allow it`, t, privateWord)
		}
	}
	switch {
	case len(allowed) > 0:
		return allowed[:min(len(allowed), maxAddresses)], nil
	case rule != "":
		return nil, p.deny(via, t.String(), rule)
	}
	return nil, fmt.Errorf("resolve %s: it has no address", t.name)
}

// deny logs a denial and returns its error.
func (p *proxy) deny(via, what, rule string) error {
	p.log.add(via, what, rule)
	return fmt.Errorf("%w: %s: %s", errDenied, clip(what), rule)
}
