package confine

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"middleman/internal/agent"
	"middleman/internal/egress"
	"middleman/internal/environ"
	"middleman/internal/plainfile"
	"middleman/internal/private"
)

// trustVariables lead programs to the authorities that they trust: OpenSSL, Go and Rust;
// curl; git; Python; pip; Node.js, which adds them to its own; cargo; Deno; AWS tools.
var trustVariables = []string{"SSL_CERT_FILE", "CURL_CA_BUNDLE", "GIT_SSL_CAINFO", "REQUESTS_CA_BUNDLE", "PIP_CERT", "NODE_EXTRA_CA_CERTS",
	"CARGO_HTTP_CAINFO", "DENO_CERT", "AWS_CA_BUNDLE"}

// systemAuthorities are where systems have the authorities that all programs trust.
var systemAuthorities = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem",
	"/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem", "/etc/ssl/cert.pem"}

// maxAuthorities bounds the file of the system's authorities.
const maxAuthorities = 8 << 20

// secrets gives placeholders to the variables that are secret, and the values to the
// proxy. The program sees the values in no variable, also not in another one.
func (b *builder) secrets() error {
	all, err := b.secretList()
	if err != nil || len(all) == 0 {
		return err
	}
	var masks egress.Masks
	var used []string
	for _, s := range all {
		value := b.env.Lookup(s.Variable)
		if value == "" {
			continue
		}
		if egress.IsPlaceholder(value) {
			b.note("%s holds the placeholder of the parent session, which does not work in this worker", s.Variable)
			continue
		}
		if len(b.Network) == 0 {
			return fmt.Errorf("%s is a secret of the settings or the profile, which only the proxy of a network list can put into requests: name hosts by --network or sandbox.network, or start it without %s", s.Variable, s.Variable)
		}
		placeholder, err := masks.Add(s, value)
		if err != nil {
			return err
		}
		for _, entry := range slices.Clone(b.env.Entries()) {
			if name, text, _ := strings.Cut(entry, "="); strings.Contains(text, value) {
				b.env.Set(b.env.Source(name), name+"="+strings.ReplaceAll(text, value, placeholder))
			}
		}
		used = append(used, s.Variable+" "+strings.Join(s.Hosts, " "))
	}
	for _, s := range all { // a worker's variables may come from elsewhere
		b.policy.Network.Masked = append(b.policy.Network.Masked, s.Variable+" "+strings.Join(s.Hosts, " "))
	}
	if len(used) == 0 {
		return nil
	}
	b.masked = used
	return b.placeSecrets(&masks)
}

// secretList returns the secrets of the session: those of the session that starts it,
// the profile's and those of the settings. The first that names a variable counts.
func (b *builder) secretList() (all []egress.Secret, err error) {
	var lists [][]string
	if b.Parent != nil {
		lists = append(lists, b.Parent.Network.Masked)
	}
	if b.Profile.Source != agent.Repository {
		lists = append(lists, b.Profile.Secrets)
	}
	for _, list := range append(lists, b.Settings.Secrets) {
		parsed, err := egress.ParseSecrets(list)
		if err != nil {
			return nil, err
		}
		for _, s := range parsed {
			if !slices.ContainsFunc(all, func(other egress.Secret) bool { return other.Variable == s.Variable }) {
				all = append(all, s)
			}
		}
	}
	return all, nil
}

// placeSecrets writes what the proxy takes, and the authorities that programs trust.
func (b *builder) placeSecrets(masks *egress.Masks) error {
	raw, err := masks.Encode()
	if err != nil {
		return err
	}
	file := b.Dirs.Secrets(b.ID)
	if err := private.MakeDir(filepath.Dir(file)); err != nil {
		return err
	}
	if err := private.Replace(file, raw, private.ThisBoot); err != nil {
		return fmt.Errorf("write the secrets for the proxy: %w", err)
	}
	b.policy.Network.Secrets = file
	var trusted []byte
	for _, path := range append([]string{b.env.Lookup(trustVariables[0])}, systemAuthorities...) {
		if trusted, err = plainfile.ReadFollowed(path, maxAuthorities); err == nil {
			break
		}
	}
	// Without any the program trusts the hosts of its secrets alone.
	at := b.Dirs.Authority(b.ID)
	if err := private.Replace(at, append(append(trusted, '\n'), masks.Authority()...), private.ThisBoot); err != nil {
		return fmt.Errorf("write the authorities that the program trusts: %w", err)
	}
	real, err := filepath.EvalSymlinks(at)
	if err != nil {
		return err
	}
	b.policy.Show = append(b.policy.Show, real)
	for _, variable := range trustVariables {
		b.env.Set(environ.Own, variable+"="+real)
	}
	return nil
}
