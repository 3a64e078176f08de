package listen

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"middleman/internal/heldport"
)

// Port is the server's TCP port, and the origin that browsers trust there.
//
// A program that had the port before may have left a service worker or a cached
// script in the browser, which would run as part of the server's origin. So
// browsers use a name below localhost that no server had before, at a port that
// no other program can get: the server listens on both loopback addresses, where
// browsers look for the name, and a holder keeps the port while no server runs.
type Port struct {
	// Name is the host of the origin where browsers log in. It is "" with TLS:
	// there the address is the host, because others cannot answer for it.
	Name string
	// Fresh says that another program may have had the port since the previous
	// server, so logins from before are not valid.
	Fresh bool

	held       heldport.Port
	socket     string
	executable string
	listeners  []net.Listener
	mu         sync.Mutex       // guards all below
	holder     *heldport.Holder // nil while there is none
	replaced   time.Time        // when an ended holder was last replaced
	again      func()           // called when the holder has ended unasked
}

// takePort takes the port over from its holder, or listens anew. If another
// address is wanted, it ends the holder once it listens there. before is the
// previous server's address.
func takePort(o Options, before string) (_ *Port, ls []net.Listener, err error) {
	p := &Port{socket: o.Dirs.PortSocket(), executable: o.Executable}
	holder, held, ls, err := heldport.Find(p.socket)
	switch {
	case errors.Is(err, heldport.ErrNone):
	case err != nil:
		// It may still hold the port, so do not take a new one.
		return nil, nil, fmt.Errorf("%w: if that process hangs, end it; all logins end with it", err)
	case o.wants(held.Address):
		p.Name, p.held, p.holder, p.listeners = held.Name, held, holder, ls
		p.watch()
		return p, ls, nil
	default:
		if err := closeAll(ls); err != nil {
			return nil, nil, errors.Join(err, holder.Close())
		}
		if o.TLS { // end it first: the new address may be the same
			err, holder = holder.End(), nil
		}
		if err != nil {
			return nil, nil, err
		}
	}
	if ls, err = listenTCP(o, before); err != nil {
		if holder != nil {
			err = errors.Join(err, holder.Close())
		}
		return nil, nil, fmt.Errorf("%w: choose another address with --listen", err)
	}
	if holder != nil {
		if err := holder.End(); err != nil {
			return nil, nil, errors.Join(err, closeAll(ls))
		}
	}
	p.listeners = ls
	if !o.TLS {
		p.Fresh, p.Name = true, heldport.NewName()
		p.held = heldport.Port{Address: ls[0].Addr().String(), Name: p.Name}
	}
	return p, ls, nil
}

// wants reports whether a server with these options listens at the held address.
// A server that may choose its port does.
func (o Options) wants(held string) bool {
	return !o.TLS && (o.AnyPort || held == literal(o.Address))
}

// literal returns address with 127.0.0.1 in place of localhost, as a listener
// would return it.
func literal(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// listenTCP listens at o.Address. If that is taken and o.AnyPort is set, it tries
// the port of before, the previous server's address, and then any free port. With
// o.AnyPort and port 0 in o.Address, it tries the port of before first.
func listenTCP(o Options, before string) (ls []net.Listener, err error) {
	host, port, err := net.SplitHostPort(literal(o.Address))
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w", o.Address, err)
	}
	addresses := []string{net.JoinHostPort(host, port)}
	if o.AnyPort {
		if port == "0" {
			addresses = nil
		}
		if _, port, err := net.SplitHostPort(before); err == nil {
			addresses = append(addresses, net.JoinHostPort(host, port))
		}
		if o.TLS { // the address is the origin, so prefer the previous one
			slices.Reverse(addresses)
		}
		addresses = append(addresses, net.JoinHostPort(host, "0"))
	}
	for _, address := range addresses {
		ls, err = listenBoth(address, o.TLS)
		if !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return ls, err
}

// CheckBind returns why a server with these options could not listen instead of the one
// that listens at now: it tries, and listens no more afterwards. Without now it does not
// try.
func CheckBind(o Options, now string) error {
	if now == "" || o.wants(now) || literal(o.Address) == now {
		return nil
	}
	_, asked, _ := net.SplitHostPort(o.Address) // CheckAddress has checked it
	_, held, _ := net.SplitHostPort(now)
	l, err := net.Listen("tcp", literal(o.Address))
	if errors.Is(err, syscall.EADDRINUSE) && (o.AnyPort || asked == held) {
		return nil // another port will do, or this one is free once the present server has ended
	}
	if err == nil {
		err = l.Close()
	}
	return err
}

// sibling maps each address where browsers look for names below localhost to the
// other one.
var sibling = map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}

// listenBoth listens at address and, without TLS, also at its sibling, where
// another program could otherwise answer for a name below localhost.
func listenBoth(address string, encrypted bool) ([]net.Listener, error) {
	const tries = 16 // with port 0: ports that may turn out to be taken at the sibling
	for try := 1; ; try++ {
		first, err := net.Listen("tcp", address)
		if err != nil {
			return nil, err
		}
		host, port, err := net.SplitHostPort(first.Addr().String())
		if err != nil {
			return nil, errors.Join(err, first.Close())
		}
		other, ok := sibling[host]
		if encrypted || !ok {
			return []net.Listener{first}, nil
		}
		second, err := net.Listen("tcp", net.JoinHostPort(other, port))
		switch {
		case err == nil:
			return []net.Listener{first, second}, nil
		case errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT):
			return []net.Listener{first}, nil // the machine has no such address
		}
		err = errors.Join(fmt.Errorf("browsers look for the server at %s too: %w", other, err), first.Close())
		if _, asked, _ := net.SplitHostPort(address); asked != "0" || try == tries || !errors.Is(err, syscall.EADDRINUSE) {
			return nil, err
		}
	}
}

// Hold has a holder keep the port until then, also while no server runs. With the
// zero time it ends the holder, so the port becomes free when the server ends.
// It blocks until the holder has answered. Where the system cannot hold a port,
// it does nothing.
func (p *Port) Hold(ctx context.Context, until time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if until.IsZero() || p.executable == "" || p.Name == "" {
		return p.letGo()
	}
	if p.holder != nil {
		if p.holder.Keep(until) == nil {
			return nil
		}
		_ = p.holder.Close() // it has ended; a new one gets the same sockets
		p.holder = nil
	}
	holder, err := heldport.Start(context.WithoutCancel(ctx), p.executable, p.socket, p.held, p.listeners)
	if errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	if err != nil {
		return err
	}
	p.holder = holder
	p.watch()
	return holder.Keep(until)
}

// watch calls again when the holder has ended unasked: because it was killed, or
// its socket was removed. Call watch once for each holder, with mu held or before
// other goroutines have p.
func (p *Port) watch() {
	holder := p.holder
	go func() { // ends with the holder, or by letGo and close
		<-holder.Gone()
		p.mu.Lock()
		// At most once a second. After that, the next use of a login tries again.
		again := p.holder == holder && p.again != nil && time.Since(p.replaced) > time.Second
		if again {
			p.replaced = time.Now()
		}
		p.mu.Unlock()
		if again {
			p.again()
		}
	}()
}

// OnEnd sets the function to call when a holder has ended unasked. It is called
// in a goroutine of its own, without locks.
func (p *Port) OnEnd(again func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = again
}

// letGo ends the holder, if there is one. mu must be held.
func (p *Port) letGo() error {
	if p.holder == nil {
		return nil
	}
	holder := p.holder
	p.holder = nil
	return holder.End()
}

// close disconnects from the holder, which keeps the port.
func (p *Port) close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	holder := p.holder
	if p.holder = nil; holder == nil {
		return nil
	}
	return holder.Close()
}

func closeAll(ls []net.Listener) error {
	var errs []error
	for _, l := range ls {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}
