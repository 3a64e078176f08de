package ptyowner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/terminal"
)

// Files of a session's state directory.
const (
	ownerLockFile = "owner.lock" // flock held by the owner for its whole life
	startLockFile = "start.lock" // flock around starting
	recordFile    = "owner.json" // record
	exitFile      = "exit.json"  // terminal.Exit
	screenFile    = "screen.ans" // the last screen
	journalDir    = "journal"    // output, by offset
	logFile       = "owner.log"  // what the owner said before it died
	hostFile      = "host"       // the host's name, where that is not the PTY
	socketFile    = "owner.sock" // where the path is short enough

	// Of a session on tmux that an earlier build started, which had no owner.
	formerFile = "tmux.json"
	formerLock = "session.lock" // held while it lives
)

// recordFormat is the version of owner.json that this build writes. It reads
// that one and all before.
const recordFormat = 1

// record is owner.json: how to reach the owner, and what it runs.
type record struct {
	Format      int      `json:"format"`
	MinProtocol int      `json:"min_protocol"`
	MaxProtocol int      `json:"max_protocol"`
	Features    []string `json:"features"`
	Build       string   `json:"build"`
	OwnerPID    int      `json:"owner_pid"`
	OwnerStart  string   `json:"owner_start"` // process start time, where the system tells
	// Image is which file the owner executes, by device and inode; "" where the
	// system does not say, and of owners of earlier builds.
	Image     string        `json:"image,omitempty"`
	Socket    string        `json:"socket"`
	Token     string        `json:"token"`
	Created   time.Time     `json:"created"`
	Workspace string        `json:"workspace,omitempty"`
	Argv      []string      `json:"argv"`
	Dir       string        `json:"dir"`
	Size      terminal.Size `json:"size"`
	// JournalBytes is terminal.Spec's; owners of earlier builds did not say.
	JournalBytes *int64 `json:"journal_bytes,omitempty"`
	// Clipboard is terminal.Spec's; owners of earlier builds had none.
	Clipboard terminal.Clipboard `json:"clipboard,omitempty"`
	// Host is what gives the owner its terminal; "" is the PTY.
	Host string `json:"host,omitempty"`
}

// runs reports whether the owner executes that file. Where the system does not
// tell, it is false.
func (r record) runs(executable string) (bool, error) {
	wanted, err := os.Stat(executable)
	if err != nil {
		return false, fmt.Errorf("look at the executable: %w", err)
	}
	if r.Image != "" {
		return r.Image == imageOf(wanted), nil
	}
	running, err := statProgram(r.OwnerPID)
	if errors.Is(err, errors.ErrUnsupported) {
		return false, nil
	}
	return err == nil && os.SameFile(wanted, running), nil
}

// stateDir is a session's state directory.
type stateDir struct {
	id   string
	path string
}

func (d stateDir) file(name string) string { return filepath.Join(d.path, name) }

// hostName is the name of the session's host, "" for the PTY. It is there
// before anything is started.
func (d stateDir) hostName() string {
	name, err := os.ReadFile(d.file(hostFile))
	if err != nil {
		return ""
	}
	return string(name)
}

// isFormer reports whether the session is one of those that had no owner.
func (d stateDir) isFormer() bool {
	_, former := os.Lstat(d.file(formerFile))
	_, owned := os.Lstat(d.file(recordFile))
	return former == nil && errors.Is(owned, fs.ErrNotExist) && d.hostName() == ""
}

func (d stateDir) journal() string { return d.file(journalDir) }

// readRecord reads owner.json. A missing file is fs.ErrNotExist.
func (d stateDir) readRecord() (record, error) {
	data, err := private.ReadFile(d.file(recordFile))
	if err != nil {
		return record{}, fmt.Errorf("read owner state: %w", err)
	}
	return d.parseRecord(data)
}

// parseRecord decodes owner.json.
func (d stateDir) parseRecord(data []byte) (record, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return record{}, fmt.Errorf("read owner state %s: %w", d.file(recordFile), err)
	}
	if r.Format < 1 || r.Format > recordFormat {
		return record{}, fmt.Errorf("read owner state %s: format %d, this build reads up to %d",
			d.file(recordFile), r.Format, recordFormat)
	}
	if name := filepath.Base(r.Socket); !filepath.IsAbs(r.Socket) || name != socketFile && name != d.id+".sock" {
		return record{}, fmt.Errorf("read owner state %s: %q is no socket of this session", d.file(recordFile), r.Socket)
	}
	return r, nil
}

// readExit reads exit.json; ok is false where there is none.
func (d stateDir) readExit() (exit terminal.Exit, ok bool, err error) {
	err = d.readJSON(exitFile, &exit)
	if errors.Is(err, fs.ErrNotExist) {
		return terminal.Exit{}, false, nil
	}
	// What is JSON and no exit must not pass for one with code 0.
	if err == nil && (exit.Time.IsZero() || exit.Code < -1 || exit.Signal < 0 || exit.Code == -1 && exit.Signal == 0) {
		err = fmt.Errorf("read owner state %s: it holds no exit", d.file(exitFile))
	}
	return exit, err == nil, err
}

func (d stateDir) readJSON(name string, v any) error {
	path := d.file(name)
	data, err := private.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read owner state: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read owner state %s: %w", path, err)
	}
	return nil
}

// writeRecord writes owner.json, and fills in what it says of the owner's process,
// which is this one. The file is in place whole, and on disk, or there is an error.
func (d stateDir) writeRecord(r record) error {
	pid := os.Getpid()
	r.Format, r.OwnerPID, r.OwnerStart, r.Image = recordFormat, pid, processStart(pid), runningImage()
	return d.writeJSON(recordFile, r)
}

// writeScreen writes the last screen, which data draws on a reset terminal. The
// file is in place whole, and on disk, or there is an error.
func (d stateDir) writeScreen(data []byte) error { return d.writeFile(screenFile, data) }

// writeExit writes exit.json. The file is in place whole, and on disk, or there is
// an error.
func (d stateDir) writeExit(exit terminal.Exit) error { return d.writeJSON(exitFile, exit) }

// writeFile puts a 0600 file in place whole: temp file, fsync, rename, fsync
// of the directory.
func (d stateDir) writeFile(name string, data []byte) error {
	path, temp := d.file(name), d.file("."+name+".new")
	if err := writeSynced(temp, name, data); err != nil {
		return fmt.Errorf("write owner state %s: %w", path, err)
	}
	fault.Here("file/" + name + "/written")
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("write owner state: %w", err)
	}
	fault.Here("file/" + name + "/renamed")
	if err := errors.Join(fault.Error("sync-dir/"+name), private.SyncDir(d.path)); err != nil {
		return fmt.Errorf("write owner state %s: %w", path, err)
	}
	return nil
}

func (d stateDir) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write owner state %s: %w", d.file(name), err)
	}
	return d.writeFile(name, append(data, '\n'))
}

// writeSynced writes path, which is to become the file name.
func writeSynced(path, name string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err = fault.Error("write/" + name); err == nil {
		_, err = f.Write(data)
	}
	return errors.Join(err, fault.Error("sync/"+name), f.Sync(), f.Close())
}

// check returns an error unless the state directory is ours, and nobody else
// could have written in it: each component down to root, and from there to d,
// which may be no symbolic links.
func (d stateDir) check(root string) error { return private.Below(root, d.path) }
