package admin

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"

	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/certs"
	"middleman/internal/config"
	"middleman/internal/listen"
)

// encryption applies the TLS flags, or set if no flag is given.
func (o *serveOptions) encryption(set config.TLS) error {
	switch o.tlsMode {
	case "":
	case "local":
		o.tls.Local = true
	default:
		return cli.Usagef(`--tls is %q: the only value is local; for a certificate of your own use --tls-cert and --tls-key`, o.tlsMode)
	}
	if !o.tls.Enabled() {
		o.tls = set
	}
	if err := o.tls.Check(); err != nil {
		return cli.Usagef("%w", err)
	}
	if o.runtime && !o.tls.Enabled() {
		return cli.Usagef("--runtime needs --tls local, or a certificate: hubs come by https")
	}
	return nil
}

// nextTLS returns the TLS settings with which a server would start without flags.
// background: the one that a command starts.
func (c commands) nextTLS(background bool) config.TLS {
	if background && !c.Config.TLS.Enabled() {
		return listen.LastTLS(c.Dirs)
	}
	return c.Config.TLS
}

// certificate returns the server's TLS configuration, or nil without TLS. It tells about
// a local authority.
func (c commands) certificate(o serveOptions) (*tls.Config, error) {
	encrypted, authority, err := c.loadCertificate(o)
	if authority == nil || err != nil {
		return encrypted, err
	}
	fmt.Fprintf(c.Errs, "Browsers must trust the local authority before they log in: import %s as one that may identify websites\n"+
		"(Chrome: Settings, Privacy and security, Security, Manage certificates; Firefox: Settings, Privacy & Security, View Certificates, Authorities;\n"+
		"macOS: Keychain Access). It vouches for this machine alone; its key is in %s and stays there.\n"+
		"Do not click through the browser's warning instead: then anybody on the way can pretend to be this server.\n"+
		"Its SHA-256, for middleman runtime add --pin: %s\n",
		authority.File, filepath.Dir(authority.File), authority.Fingerprint())
	return encrypted, nil
}

// loadCertificate is certificate without a word. The authority is nil for a certificate of
// the user's own.
func (c commands) loadCertificate(o serveOptions) (*tls.Config, *certs.Authority, error) {
	if !o.tls.Enabled() {
		return nil, nil, nil
	}
	if !o.tls.Local {
		encrypted, err := certs.Files(o.tls.Cert, o.tls.Key, func(err error) { slog.Warn("certificate", "error", err) })
		return encrypted, nil, err
	}
	authority, err := certs.Local(c.Dirs.TLS(), c.Config.Hosts)
	if err != nil {
		return nil, nil, err
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err == nil {
		err = authority.Covers(host)
	}
	if err != nil {
		return nil, nil, err
	}
	return authority.Config(), authority, nil
}

// canStart returns why a server with these options could not start now, in place of the
// one that listens at address. Settings that this program cannot read are no reason:
// another version may know them, and a command that asks for a restart has read them.
func (c commands) canStart(o serveOptions, address string) error {
	now, err := config.Load(c.Dirs.File())
	if err != nil {
		return nil
	}
	set := *c.CLI
	set.Config = now
	c.CLI = &set
	if !o.flagged {
		o.tls = c.nextTLS(o.ready)
	}
	if !o.fixed {
		o.listen = now.Listen
	}
	err = listen.CheckAddress(o.listen, o.tls.Enabled())
	if err == nil {
		err = listen.CheckBind(c.listenOptions(o), address)
	}
	if err == nil {
		_, _, err = c.loadCertificate(o)
	}
	if err != nil {
		return app.Refusef(api.CodeBadConfig, "the server goes on as it is, because it could not start again: %v", err)
	}
	return nil
}

// remote reports whether other machines can reach the server.
func (o serveOptions) remote() bool {
	host, _, err := net.SplitHostPort(o.listen)
	if err != nil || strings.EqualFold(host, "localhost") {
		return false
	}
	ip := net.ParseIP(host)
	return ip == nil || !ip.IsLoopback()
}

// hosts returns the names of the server besides localhost.
func (c commands) hosts(o serveOptions) []string {
	name, err := os.Hostname()
	if err != nil || !o.remote() {
		return c.Config.Hosts
	}
	return append([]string{name, name + ".local"}, c.Config.Hosts...)
}
