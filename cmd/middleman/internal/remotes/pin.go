package remotes

import "strings"

// plainPin returns a SHA-256 as the server takes it, of one as openssl prints it:
// "sha256 Fingerprint=AB:CD:...".
func plainPin(text string) string {
	if _, after, found := strings.Cut(text, "="); found {
		text = after
	}
	return strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), ":", ""))
}
