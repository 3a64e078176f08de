package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"middleman/internal/private"
	"middleman/terminal"
)

const (
	environFile   = "environ.json" // names of the program's variables, without values
	environFormat = 1
	maxVariables  = 1 << 16
)

// AgentFile is the link to the SSH agent that the program uses.
const AgentFile = "ssh-agent"

// environRecord is environ.json.
type environRecord struct {
	Format    int                 `json:"format"`
	Variables []terminal.Variable `json:"variables"`
}

// WriteEnvironment writes environ.json. It holds no values.
func (d Dir) WriteEnvironment(list []terminal.Variable) error {
	data, err := json.Marshal(environRecord{environFormat, list})
	if err == nil {
		err = private.Replace(d.File(environFile), data, private.ThisBoot)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", d.File(environFile), err)
	}
	return nil
}

// ReadEnvironment reads environ.json. It returns nil if there is none, because
// an earlier build started the session.
func (d Dir) ReadEnvironment() ([]terminal.Variable, error) {
	data, err := private.ReadFile(d.File(environFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the names of variables: %w", err)
	}
	list, err := parseEnvironment(data)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", d.File(environFile), err)
	}
	return list, nil
}

// parseEnvironment decodes environ.json.
func parseEnvironment(data []byte) ([]terminal.Variable, error) {
	var r environRecord
	if err := json.Unmarshal(data, &r); err != nil {
		return nil, err
	}
	if r.Format != environFormat {
		return nil, fmt.Errorf("format %d, this build reads %d", r.Format, environFormat)
	}
	if len(r.Variables) > maxVariables {
		return nil, fmt.Errorf("it has %d variables, at most %d are read", len(r.Variables), maxVariables)
	}
	return r.Variables, nil
}
