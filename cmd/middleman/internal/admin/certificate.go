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
	"middleman/internal/certs"
	"middleman/internal/config"
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

// certificate returns the server's TLS configuration, or nil without TLS.
func (c commands) certificate(o serveOptions) (*tls.Config, error) {
	if !o.tls.Enabled() {
		return nil, nil
	}
	if !o.tls.Local {
		return certs.Files(o.tls.Cert, o.tls.Key, func(err error) { slog.Warn("certificate", "error", err) })
	}
	authority, err := certs.Local(c.Dirs.TLS(), c.Config.Hosts)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(o.listen)
	if err == nil {
		err = authority.Covers(host)
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(c.Errs, "Browsers must trust the local authority before they log in: import %s as one that may identify websites\n"+
		"(Chrome: Settings, Privacy and security, Security, Manage certificates; Firefox: Settings, Privacy & Security, View Certificates, Authorities;\n"+
		"macOS: Keychain Access). It vouches for this machine alone; its key is in %s and stays there.\n"+
		"Do not click through the browser's warning instead: then anybody on the way can pretend to be this server.\n"+
		"Its SHA-256, for middleman runtime add --pin: %s\n",
		authority.File, filepath.Dir(authority.File), authority.Fingerprint())
	return authority.Config(), nil
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
