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

// Port is the server's TCP port, and what browsers may trust of it.
//
// Whoever had the port before us may have left something in the browser that
// runs as our pages do. So browsers know the server by a name below localhost
// that nobody had before, at a port that nobody else can have: on both loopback
// addresses, since that is where browsers look for the name, and by a holder
// while no server listens.
type Port struct {
	// Name is the host of the origin that browsers log in at, "" where that is
	// the address: with TLS, where others cannot answer as us.
	Name string
	// Fresh says that another program may have had the port since the server
	// before: what was logged in there is over.
	Fresh bool

	held       heldport.Port
	socket     string
	executable string
	listeners  []net.Listener
	mu         sync.Mutex       // guards all below
	holder     *heldport.Holder // nil while there is none
	replaced   time.Time        // when a holder that had ended was replaced last
	again      func()           // called when the holder has ended by itself
}

// takePort takes the port over from its holder, or listens anew. What is held is
// given up for another address once we have that.
func takePort(o Options, before string) (_ *Port, ls []net.Listener, err error) {
	p := &Port{socket: o.Dirs.PortSocket(), executable: o.Executable}
	holder, held, ls, err := heldport.Find(p.socket)
	switch {
	case errors.Is(err, heldport.ErrNone):
	case err != nil:
		// Whether it is there is not known: nothing that it may hold is given up.
		return nil, nil, fmt.Errorf("%w: where it hangs, end it; the logins end with it", err)
	case o.wants(held.Address):
		p.Name, p.held, p.holder, p.listeners = held.Name, held, holder, ls
		p.watch()
		return p, ls, nil
	default:
		if err := closeAll(ls); err != nil {
			return nil, nil, errors.Join(err, holder.Close())
		}
		if o.TLS { // perhaps at the same address
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

// wants says whether a server with these options listens at the address that
// is held. One that may choose stays there.
func (o Options) wants(held string) bool {
	return !o.TLS && (o.AnyPort || held == literal(o.Address))
}

// literal is the address that a listener at this one has.
func literal(address string) string {
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}

// listenTCP listens at o.Address. Where that is taken and o.AnyPort is set,
// the port of the time before is the next choice and a free one the last; an
// o.Address that leaves the choice open is no first choice.
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
		if o.TLS { // the origin is the address, and nobody else can be it
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

// sibling is the other address that browsers look for names below localhost at.
var sibling = map[string]string{"127.0.0.1": "::1", "::1": "127.0.0.1"}

// listenBoth listens at address, and where others than us could answer for a
// name below localhost, there too.
func listenBoth(address string, encrypted bool) ([]net.Listener, error) {
	const tries = 16 // of a port that was free on one of them
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

// Hold makes sure that the port stays ours until then, also without a server;
// the zero time gives it up with the server.
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
		_ = p.holder.Close() // it is gone: the next one holds the same
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

// watch has another holder started when this one has ended by itself: it was
// killed, or its socket was removed. Called once for each holder, with mu held
// or before anybody else has p.
func (p *Port) watch() {
	holder := p.holder
	go func() { // ends with the holder, or by letGo and close
		<-holder.Gone()
		p.mu.Lock()
		// Where that goes on, the next use of a login tries again.
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

// OnEnd sets what is called when a holder has ended by itself.
func (p *Port) OnEnd(again func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.again = again
}

// letGo ends the holder. Called with mu held.
func (p *Port) letGo() error {
	if p.holder == nil {
		return nil
	}
	holder := p.holder
	p.holder = nil
	return holder.End()
}

// close leaves the port to its holder.
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
