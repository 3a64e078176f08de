package egress

// Start starts the proxy of a sandbox; see startProxy.
func (Proxy) Start(allow []string, log, secrets string) (args []string, socket int, inherit func() error, err error) {
	l, err := startProxy(allow, log, secrets)
	if err != nil {
		return nil, 0, nil, err
	}
	return l.args, l.socket, l.inherit, nil
}

// Join connects the sandbox that this process is in with its proxy; see joinProxy.
func (Proxy) Join(socket int) error { return joinProxy(socket) }
