package runtime

import (
	"encoding/hex"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Config says how to reach a remote. It is what the store keeps.
type Config struct {
	Name string
	// Address is ssh://[USER@]HOST[:PORT] or https://HOST[:PORT].
	Address string
	// Pin is for https: the SHA-256 of the server's certificate, or of the authority
	// that vouches for it, in 64 lower-case hex digits. "" means that the certificate
	// must be valid for the system.
	Pin string
	// TokenFile is for https: the absolute path of a file with the token.
	TokenFile string
	// Command is for ssh: the program that is middleman there; "" means middleman.
	Command   string
	CreatedAt time.Time
}

var (
	nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9-]{1,31}$`) })
	hostForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })
	userForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*$`) })
)

// checkName returns an error if name cannot be the name of a runtime.
func checkName(name string) error {
	if !nameForm().MatchString(name) {
		return fmt.Errorf("%q cannot name a runtime: use 2 to 32 lower-case letters, digits and dashes", name)
	}
	return nil
}

// Split splits RUNTIME:TARGET. runtime is "" if text names no runtime.
func Split(text string) (runtime, target string) {
	before, after, found := strings.Cut(text, ":")
	if !found || !nameForm().MatchString(before) {
		return "", text
	}
	return before, after
}

// Check returns an error that names the part that is not valid, or nil.
func (c Config) Check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	u, err := c.url()
	if err != nil {
		return err
	}
	switch {
	case u.Scheme == "https" && c.Command != "":
		return fmt.Errorf("runtime %s: a command goes with an ssh address", c.Name)
	case u.Scheme == "https" && !filepath.IsAbs(c.TokenFile):
		return fmt.Errorf("runtime %s: an https address needs a file with the token, by its absolute path", c.Name)
	case u.Scheme == "ssh" && (c.Pin != "" || c.TokenFile != ""):
		return fmt.Errorf("runtime %s: a pin and a token file go with an https address", c.Name)
	case strings.ContainsAny(c.Command, "\x00\n\r"):
		return fmt.Errorf("runtime %s: the command has a line break", c.Name)
	}
	if raw, err := hex.DecodeString(c.Pin); err != nil || len(raw) != 32 && len(raw) != 0 || c.Pin != strings.ToLower(c.Pin) {
		return fmt.Errorf("runtime %s: the pin %q is not a SHA-256, 64 lower-case hex digits", c.Name, c.Pin)
	}
	return nil
}

// url parses the address. Nothing in it can be taken for an option of ssh.
func (c Config) url() (*url.URL, error) {
	u, err := url.Parse(c.Address)
	if err != nil {
		return nil, fmt.Errorf("runtime %s: the address is not a URL", c.Name)
	}
	_, secret := u.User.Password()
	switch {
	case u.Scheme != "ssh" && u.Scheme != "https":
		return nil, fmt.Errorf("runtime %s: the address must begin with ssh:// or https://", c.Name)
	case secret || u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "":
		return nil, fmt.Errorf("runtime %s: the address must be %s://HOST[:PORT], with nothing after it and no password", c.Name, u.Scheme)
	case u.Scheme == "https" && u.User != nil:
		return nil, fmt.Errorf("runtime %s: an https address has no user: the token says who calls", c.Name)
	case !hostForm().MatchString(u.Hostname()) && net.ParseIP(u.Hostname()) == nil:
		return nil, fmt.Errorf("runtime %s: %q is not a host", c.Name, u.Hostname())
	case u.User != nil && !userForm().MatchString(u.User.Username()):
		return nil, fmt.Errorf("runtime %s: %q is not a user's name", c.Name, u.User.Username())
	}
	if port := u.Port(); port != "" || strings.HasSuffix(u.Host, ":") {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return nil, fmt.Errorf("runtime %s: %q is not a port", c.Name, port)
		}
	}
	return u, nil
}

// Kind returns ssh or https.
func (c Config) Kind() string {
	kind, _, _ := strings.Cut(c.Address, "://")
	return kind
}
