package egress

import (
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// maxSecrets bounds the secrets of a sandbox. A value has minValue to maxValue
	// bytes: a shorter one is no secret, and occurs in what has none.
	maxSecrets = 64
	minValue   = 8
	maxValue   = 16 << 10
	// httpsPort is the port of a secret's host that names none.
	httpsPort = "443"
	// placeholderStart is how each placeholder begins.
	placeholderStart = "masked-"
)

// Secret is a variable whose value a sandboxed program never has. Inside, the variable
// has a placeholder; the proxy puts the value into requests to the hosts that it is for.
type Secret struct {
	Variable string
	// Hosts are names with a port, in their canonical form.
	Hosts []string
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// parseSecret parses "VARIABLE HOST...". A host is a name, with ":PORT" unless that is
// 443.
func parseSecret(text string) (s Secret, err error) {
	words := strings.Fields(text)
	if len(words) < 2 || !variableName().MatchString(words[0]) {
		return s, fmt.Errorf("secret %q: write the name of a variable and the hosts that its value is for: API_KEY api.example", text)
	}
	s.Variable = words[0]
	for _, word := range words[1:] {
		t, err := parseAuthority(word, httpsPort)
		if err == nil && t.name == "" {
			err = errors.New("name the host: a certificate is made for a name")
		}
		if err != nil {
			return s, fmt.Errorf("secret %q: %w", text, err)
		}
		s.Hosts = append(s.Hosts, t.String())
	}
	return s, nil
}

// ParseSecrets parses a list of secrets. No variable occurs twice.
func ParseSecrets(list []string) (all []Secret, err error) {
	if len(list) > maxSecrets {
		return nil, fmt.Errorf("a list of %d secrets: at most %d are allowed", len(list), maxSecrets)
	}
	for _, text := range list {
		s, err := parseSecret(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(all, func(other Secret) bool { return other.Variable == s.Variable }) {
			return nil, fmt.Errorf("secret %q: %s is there twice: name all its hosts at once", text, s.Variable)
		}
		all = append(all, s)
	}
	return all, nil
}

// masked is a secret with its value.
type masked struct {
	Placeholder string   `json:"placeholder"`
	Value       string   `json:"value"`
	Hosts       []string `json:"hosts"`
}

// Masks are the secrets of one sandbox with their values, and the authority that the
// proxy speaks for their hosts with. The zero value has none.
type Masks struct {
	Masked      []masked `json:"masked"`
	Certificate []byte   `json:"certificate"` // of the authority, DER
	Key         []byte   `json:"key"`         // its private key, PKCS #8
}

// Add gives a secret its value, and returns the placeholder for it.
func (m *Masks) Add(s Secret, value string) (placeholder string, err error) {
	if len(value) < minValue || len(value) > maxValue || strings.ContainsFunc(value, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		return "", fmt.Errorf("the value of %s has control characters, or is not %d to %d bytes long: no header can have it as a secret", s.Variable, minValue, maxValue)
	}
	placeholder = placeholderStart + rand.Text()
	m.Masked = append(m.Masked, masked{placeholder, value, s.Hosts})
	return placeholder, nil
}

// IsPlaceholder reports whether a value is a placeholder: only the proxy of the sandbox
// that it was made for knows the value.
func IsPlaceholder(value string) bool { return strings.HasPrefix(value, placeholderStart) }

// Encode returns what the proxy reads. It has the values.
func (m *Masks) Encode() ([]byte, error) {
	var hosts []string
	for _, s := range m.Masked {
		hosts = append(hosts, s.Hosts...)
	}
	if err := m.authorize(hosts); err != nil {
		return nil, fmt.Errorf("make an authority for the hosts of secrets: %w", err)
	}
	return json.Marshal(m)
}

// decodeMasks reads what Encode returns.
func decodeMasks(raw []byte) (m Masks, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		return m, fmt.Errorf("read the secrets of a sandbox: %w", err)
	}
	for _, s := range m.Masked {
		if s.Placeholder == "" || s.Value == "" || len(s.Hosts) == 0 {
			return m, errors.New("read the secrets of a sandbox: one is incomplete")
		}
	}
	return m, nil
}

// of returns the secrets for a host, nil for none.
func (m Masks) of(t target) (found []masked) {
	for _, s := range m.Masked {
		if t.name != "" && slices.Contains(s.Hosts, t.String()) {
			found = append(found, s)
		}
	}
	return found
}

// unmask puts the values of secrets into the headers of a request: as they are, and in
// the user name and password of basic authentication.
func unmask(fields []field, secrets []masked) {
	for i, f := range fields {
		if kind, encoded, _ := strings.Cut(f.value, " "); strings.EqualFold(f.name, "Authorization") && strings.EqualFold(kind, "Basic") {
			if raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded)); err == nil {
				plain := replaceAll(string(raw), secrets, nil)
				fields[i].value = kind + " " + base64.StdEncoding.EncodeToString([]byte(plain))
				continue
			}
		}
		fields[i].value = replaceAll(f.value, secrets, nil)
	}
}

// unmaskPath puts the values of secrets into the path and query of a request.
func unmaskPath(path string, secrets []masked) string {
	return replaceAll(path, secrets, url.QueryEscape)
}

func replaceAll(text string, secrets []masked, escape func(string) string) string {
	for _, s := range secrets {
		value := s.Value
		if escape != nil {
			value = escape(value)
		}
		text = strings.ReplaceAll(text, s.Placeholder, value)
	}
	return text
}
