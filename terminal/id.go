package terminal

import (
	"crypto/rand"
	"fmt"
	"strings"
)

const (
	idAlphabet = "0123456789abcdefghjkmnpqrstvwxyz" // Crockford's base 32, lower case
	idLength   = 16                                 // 80 bits
)

// NewID returns a random id with the given one-letter prefix: "s" for a
// session, "w" for a workspace.
func NewID(prefix string) string {
	var raw [idLength]byte
	rand.Read(raw[:]) // never fails, see crypto/rand
	var b strings.Builder
	b.WriteString(prefix)
	for _, c := range raw {
		b.WriteByte(idAlphabet[c&31])
	}
	return b.String()
}

// CheckID returns an error unless id has the form that NewID gives, so that
// it can be a file name.
func CheckID(id string) error {
	if len(id) != idLength+1 || id[0] < 'a' || id[0] > 'z' {
		return fmt.Errorf("%q is not an id", id)
	}
	for _, c := range id[1:] {
		if !strings.ContainsRune(idAlphabet, c) {
			return fmt.Errorf("%q is not an id", id)
		}
	}
	return nil
}
