package state

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"middleman/internal/fault"
	"middleman/internal/private"
	"middleman/internal/proc"
	"middleman/terminal"
)

// Names of the files in a session's state directory.
const (
	OwnerLockFile = "owner.lock" // flock held by the owner for its whole life
	StartLockFile = "start.lock" // flock around starting, until the owner holds its own
	RecordFile    = "owner.json" // Record
	ExitFile      = "exit.json"  // terminal.Exit
	ScreenFile    = "screen.ans" // the last screen
	journalDir    = "journal"    // output, by offset
	TakingFile    = "taking"     // of a host that outlives owners: whether the owner had output that the journal lacks
	LogFile       = "owner.log"  // lines of Note, and the stack trace of an owner that panicked
	HostFile      = "host"       // the host's name, if it is not the PTY
	SocketFile    = "owner.sock" // unless the path would be too long

	// Files of a session on tmux that an earlier build started without an
	// owner.
	formerFile = "tmux.json"
	formerLock = "session.lock" // held while it lives
)

// recordFormat is the version of owner.json that this build writes. It reads
// this version and all earlier ones.
const recordFormat = 1

// Record is owner.json: how to reach the owner, and what it runs. New builds
// may add fields but never change the meaning of one.
type Record struct {
	Format      int      `json:"format"`
	MinProtocol int      `json:"min_protocol"`
	MaxProtocol int      `json:"max_protocol"`
	Features    []string `json:"features"`
	Build       string   `json:"build"`
	OwnerPID    int      `json:"owner_pid"`
	OwnerStart  string   `json:"owner_start"` // see proc.StartOf
	// Image is the device and inode of the file that the owner executes. It is
	// "" if the system does not tell, and for owners of earlier builds.
	Image     string        `json:"image,omitempty"`
	Socket    string        `json:"socket"`
	Token     string        `json:"token"`
	Created   time.Time     `json:"created"`
	Workspace string        `json:"workspace,omitempty"`
	Argv      []string      `json:"argv"`
	Dir       string        `json:"dir"`
	Size      terminal.Size `json:"size"`
	// JournalBytes is from terminal.Spec; nil for owners of earlier builds.
	JournalBytes *int64 `json:"journal_bytes,omitempty"`
	// Clipboard is from terminal.Spec; "" for owners of earlier builds.
	Clipboard terminal.Clipboard `json:"clipboard,omitempty"`
	// Host is the name of the owner's host; "" is the PTY.
	Host string `json:"host,omitempty"`
}

// Runs reports whether the owner executes the file at that path. It returns
// false if the system does not tell. It returns an error if there is no such
// file.
func (r Record) Runs(executable string) (bool, error) {
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

// Dir names a session's state directory, which need not exist.
type Dir struct {
	ID   string // the session's
	Path string // absolute
}

// File returns the path of one of the directory's files.
func (d Dir) File(name string) string { return filepath.Join(d.Path, name) }

// HostName returns the name of the session's host, "" for the PTY. The starter
// writes it before it starts anything.
func (d Dir) HostName() string {
	name, err := private.ReadFile(d.File(HostFile))
	if err != nil {
		return ""
	}
	return string(name)
}

// IsFormer reports whether an earlier build started the session, on tmux and
// without an owner.
func (d Dir) IsFormer() bool {
	_, former := os.Lstat(d.File(formerFile))
	_, owned := os.Lstat(d.File(RecordFile))
	return former == nil && errors.Is(owned, fs.ErrNotExist) && d.HostName() == ""
}

// Journal returns the path of the journal's directory.
func (d Dir) Journal() string { return d.File(journalDir) }

// ReadRecord reads owner.json. A missing file is fs.ErrNotExist. It is an error
// if this build does not know the record's format, or if the record's socket
// belongs to another session.
func (d Dir) ReadRecord() (Record, error) {
	data, err := d.readRecordFile()
	if err != nil {
		return Record{}, err
	}
	return d.parseRecord(data)
}

func (d Dir) readRecordFile() ([]byte, error) {
	data, err := private.ReadFile(d.File(RecordFile))
	if err != nil {
		return nil, fmt.Errorf("read owner state: %w", err)
	}
	return data, nil
}

// Records reads a session's owner.json again and again. It checks and reads the file
// each time, and decodes it only if other bytes are in it. The zero value is ready.
// Safe for concurrent use.
type Records struct {
	// mu guards the fields below: the bytes that were decoded last, and what they
	// hold.
	mu     sync.Mutex
	data   []byte
	record Record
}

// Read is d.ReadRecord. d must be the same at each call. The caller must not change
// what the record points to.
func (k *Records) Read(d Dir) (Record, error) {
	data, err := d.readRecordFile()
	if err != nil {
		return Record{}, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.data != nil && bytes.Equal(data, k.data) {
		return k.record, nil
	}
	r, err := d.parseRecord(data)
	if err == nil {
		k.data, k.record = data, r
	}
	return r, err
}

// parseRecord decodes owner.json.
func (d Dir) parseRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("read owner state %s: %w", d.File(RecordFile), err)
	}
	if r.Format < 1 || r.Format > recordFormat {
		return Record{}, fmt.Errorf("read owner state %s: format %d, this build reads up to %d",
			d.File(RecordFile), r.Format, recordFormat)
	}
	if name := filepath.Base(r.Socket); !filepath.IsAbs(r.Socket) || name != SocketFile && name != d.ID+".sock" {
		return Record{}, fmt.Errorf("read owner state %s: %q is not a socket of this session", d.File(RecordFile), r.Socket)
	}
	return r, nil
}

// ReadExit reads exit.json. If there is none, ok is false and err is nil.
func (d Dir) ReadExit() (exit terminal.Exit, ok bool, err error) {
	err = d.readJSON(ExitFile, &exit)
	if errors.Is(err, fs.ErrNotExist) {
		return terminal.Exit{}, false, nil
	}
	// JSON that holds no exit must not count as an exit with code 0.
	if err == nil && (exit.Time.IsZero() || exit.Code < -1 || exit.Signal < 0 || exit.Code == -1 && exit.Signal == 0) {
		err = fmt.Errorf("read owner state %s: it holds no exit", d.File(ExitFile))
	}
	return exit, err == nil, err
}

func (d Dir) readJSON(name string, v any) error {
	path := d.File(name)
	data, err := private.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read owner state: %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read owner state %s: %w", path, err)
	}
	return nil
}

// WriteRecord writes owner.json. It fills in the format and the fields about
// the owner's process, which must be this one. Without an error the whole file
// is in place and on disk.
func (d Dir) WriteRecord(r Record) error {
	pid := os.Getpid()
	r.Format, r.OwnerPID, r.OwnerStart, r.Image = recordFormat, pid, proc.StartOf(pid), runningImage()
	return d.writeJSON(RecordFile, r)
}

// WriteScreen writes the last screen, as bytes that draw it on a reset
// terminal. Without an error the whole file is in place and on disk.
func (d Dir) WriteScreen(data []byte) error { return d.writeFile(ScreenFile, data) }

// WriteExit writes exit.json. Without an error the whole file is in place and
// on disk.
func (d Dir) WriteExit(exit terminal.Exit) error { return d.writeJSON(ExitFile, exit) }

// writeFile replaces a file durably.
func (d Dir) writeFile(name string, data []byte) error {
	err := private.ReplaceWith(d.File(name), private.Durable, func(f *os.File) error {
		if err := fault.Error("write/" + name); err != nil {
			return err
		}
		if _, err := f.Write(data); err != nil {
			return err
		}
		if err := fault.Error("sync/" + name); err != nil {
			return err
		}
		fault.Here("file/" + name + "/written")
		return nil
	})
	if err == nil {
		fault.Here("file/" + name + "/renamed")
		err = fault.Error("sync-dir/" + name)
	}
	if err != nil {
		return fmt.Errorf("write owner state %s: %w", d.File(name), err)
	}
	return nil
}

func (d Dir) writeJSON(name string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("write owner state %s: %w", d.File(name), err)
	}
	return d.writeFile(name, append(data, '\n'))
}

// Check returns an error unless the state directory is this user's and no other
// user could have written in it. It checks each component of the path down to
// root, and from there to d, where it accepts no symbolic link.
func (d Dir) Check(root string) error { return private.Below(root, d.Path) }
