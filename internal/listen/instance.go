package listen

import (
	"encoding/json"
	"fmt"

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
	// TLS is what the last server that somebody started by hand encrypted with.
	TLS config.TLS `json:"tls,omitzero"`
}

// LastTLS is what the last server that somebody started by hand encrypted with:
// the next, in the background, does not open in plain what was not.
func LastTLS(dirs config.Dirs) config.TLS { return readInstance(dirs).TLS }

// readInstance returns what the server before has left, and nothing where its
// file is missing or damaged: all that it costs is a login.
func readInstance(dirs config.Dirs) instance {
	var kept instance
	if err := readJSON(dirs.InstanceFile(), &kept); err != nil {
		return instance{}
	}
	return kept
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
