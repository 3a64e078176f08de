package egress

// Proxy is the sandbox.Proxy of this package.
type Proxy struct{}

// Start is the function Start, with the parts of the Link.
func (Proxy) Start(allow []string, log, secrets string) (args []string, socket int, inherit func() error, err error) {
	l, err := Start(allow, log, secrets)
	if err != nil {
		return nil, 0, nil, err
	}
	return l.Args, l.Socket, l.Inherit, nil
}

// Join is the function Join.
func (Proxy) Join(socket int) error { return Join(socket) }
