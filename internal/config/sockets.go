package config

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"middleman/internal/ipc"
	"middleman/internal/private"
)

// longestSocket is the longest name of a socket in Sockets: that of a session.
const longestSocket = "s0123456789abcdef.sock"

// Sockets returns the directory for Unix sockets, whose paths the system bounds:
// the runtime directory or, where its path is too long, a directory of this user
// alone in a short place. It is the same for each process that has these directories,
// whatever else its environment is. The short place is not /run/user, which a logout
// empties. Its usual name can be foreseen; where another user took that first, Prepare
// chooses a random one and records it in the runtime directory.
func (d Dirs) Sockets() string {
	if len(filepath.Join(d.Runtime, longestSocket)) <= ipc.MaxSocketPath {
		return d.Runtime
	}
	usual := d.usualSockets()
	if chosen := d.chosenSockets(); chosen != "" && !taken(chosen) {
		return chosen
	}
	if taken(usual) {
		return d.Runtime // as long as Prepare has chosen none
	}
	return usual
}

func shortPrefix() string {
	return filepath.Join(shortBase(), fmt.Sprintf("middleman-%d-", os.Getuid()))
}

// usualSockets returns the directory whose name follows from the runtime directory.
func (d Dirs) usualSockets() string {
	of := sha256.Sum256([]byte(d.Runtime))
	return shortPrefix() + hex.EncodeToString(of[:8])
}

// socketsFile has the path of the directory that chooseSockets made.
func (d Dirs) socketsFile() string { return filepath.Join(d.Runtime, "sockets") }

// chosenSockets returns the directory that chooseSockets made, or "".
func (d Dirs) chosenSockets() string {
	raw, err := private.ReadFile(d.socketsFile())
	name, ours := strings.CutPrefix(string(raw), shortPrefix())
	if id, bad := hex.DecodeString(name); err != nil || !ours || bad != nil || len(id) != 8 {
		return ""
	}
	return string(raw)
}

// chooseSockets makes a directory for sockets that nobody could take before, if another
// user has the usual one. The runtime directory must be there.
func (d Dirs) chooseSockets() error {
	if d.Sockets() != d.Runtime || len(filepath.Join(d.Runtime, longestSocket)) <= ipc.MaxSocketPath {
		return nil
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	chosen := shortPrefix() + hex.EncodeToString(id[:])
	if err := os.Mkdir(chosen, 0o700); err != nil {
		return fmt.Errorf("make a directory for sockets: %w", err)
	}
	if err := os.Remove(d.socketsFile()); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return errors.Join(err, os.Remove(chosen))
	}
	// The first of two processes that choose at a time wins.
	file, err := os.OpenFile(d.socketsFile()+"-"+hex.EncodeToString(id[:]), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Join(err, os.Remove(chosen))
	}
	_, err = file.WriteString(chosen)
	err = errors.Join(err, file.Close())
	if err == nil {
		err = os.Link(file.Name(), d.socketsFile())
	}
	if err != nil {
		_ = os.Remove(chosen) // an empty directory is no harm
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(file.Name()))
}
