package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"syscall"

	"middleman/internal/config"
	"middleman/internal/private"
)

// instance is what a data directory keeps from server to server, so that
// browsers find the next one and stay logged in.
type instance struct {
	// ID tells this data directory from others: see Options.Instance. It is no
	// secret.
	ID string `json:"id"`
	// Address is where the server listened when it could not where it was
	// told to.
	Address string `json:"address,omitempty"`
}

// readInstance returns what the server before has left, and nothing where its
// file is missing or damaged: all that it costs is a login.
func readInstance(dirs config.Dirs) instance {
	var kept instance
	if err := readJSON(dirs.InstanceFile(), &kept); err != nil {
		return instance{}
	}
	return kept
}

// listenTCP listens at o.Address. Where that is taken and o.AnyPort is set,
// the port of the time before is the next choice and a free one the last; an
// o.Address that leaves the choice open is no first choice.
func listenTCP(o ListenOptions, before string) (l net.Listener, err error) {
	addresses := []string{o.Address}
	if o.AnyPort {
		host, port, err := net.SplitHostPort(o.Address)
		if err != nil {
			return nil, fmt.Errorf("listen address %q: %w", o.Address, err)
		}
		if port == "0" {
			addresses = nil
		}
		if _, port, err := net.SplitHostPort(before); err == nil {
			addresses = append(addresses, net.JoinHostPort(host, port))
		}
		addresses = append(addresses, net.JoinHostPort(host, "0"))
	}
	for _, address := range addresses {
		if l, err = net.Listen("tcp", address); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%w: choose another address with --listen", err)
	}
	return l, nil
}

// writeJSON replaces the file at path, with mode 0600.
func writeJSON(path string, v any) error {
	data, err := json.Marshal(v)
	if err == nil {
		err = private.Replace(path, append(data, '\n'), private.ThisBoot)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func readJSON(path string, v any) error {
	raw, err := private.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
