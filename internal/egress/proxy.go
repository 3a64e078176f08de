package egress

import "fmt"

// helperCommand is the name of the hidden command that runs Main.
const helperCommand = "egress-proxy"

// IsHelper reports whether the arguments of this process are those of Main, less the
// first.
func IsHelper(args []string) bool { return len(args) > 0 && args[0] == helperCommand }

// Proxy is the sandbox.Proxy of this package.
type Proxy struct{}

// Check returns an error unless the network list and the list of secrets can be read.
func (Proxy) Check(allow, masked []string) error {
	if _, err := Parse(allow); err != nil {
		return fmt.Errorf("list of hosts: %w", err)
	}
	if _, err := ParseSecrets(masked); err != nil {
		return fmt.Errorf("list of secrets: %w", err)
	}
	return nil
}
