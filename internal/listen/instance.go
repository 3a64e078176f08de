package listen

import (
	"encoding/json"
	"fmt"

	"middleman/internal/config"
	"middleman/internal/private"
)

// instance is the record that a server leaves in the data directory for the
// next, so that browsers find that and stay logged in.
type instance struct {
	// ID identifies the data directory: see Listeners.Instance. It is no secret.
	ID string `json:"id"`
	// Address is the last address that the server listened at instead of the one
	// in Options, or with TLS.
	Address string `json:"address,omitempty"`
	// TLS has the TLS settings of the last server that was started by hand.
	TLS config.TLS `json:"tls,omitzero"`
}

// LastTLS returns the TLS settings of the last server that was started by hand.
// A server that is started in the background uses them, so that it does not
// listen without TLS where that one used it.
func LastTLS(dirs config.Dirs) config.TLS { return readInstance(dirs).TLS }

// readInstance returns the previous server's record. It returns the zero value
// if the file is missing or damaged; browsers must then log in again.
func readInstance(dirs config.Dirs) instance {
	var kept instance
	if err := readJSON(dirs.InstanceFile(), &kept); err != nil {
		return instance{}
	}
	return kept
}

// writeJSON replaces the file at path, with mode 0600. It does not sync it to
// disk.
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
