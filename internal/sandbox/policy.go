// Package sandbox confines the program of a session, and all that it starts, to
// what a policy allows. The server writes a Policy for each session; the helper
// `middleman sandbox-exec` reads it, checks its digest, and starts the program
// under bubblewrap or, if that cannot be used, under Landlock.
//
// A policy that cannot be enforced whole is refused: nothing here weakens one.
package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
)

// Level says what the user asked for.
type Level string

const (
	None Level = "none" // no sandbox
	// Workspace: the program writes to its workspace and to private directories
	// alone, and does not read credentials.
	Workspace Level = "workspace"
	// Strict is Workspace without network. It needs bubblewrap.
	Strict Level = "strict"
)

// rank orders the levels: a stronger one has a higher rank. An unknown level has
// rank -1.
func (l Level) rank() int {
	switch l {
	case "", None:
		return 0
	case Workspace:
		return 1
	case Strict:
		return 2
	}
	return -1
}

// Known reports whether l is a level. "" is none.
func (l Level) Known() bool { return l.rank() >= 0 }

// Weaker reports whether l protects less than other.
func (l Level) Weaker(other Level) bool { return l.rank() < other.rank() }

// Method is how a policy is enforced.
type Method string

const (
	Bubblewrap Method = "bubblewrap"
	Landlock   Method = "landlock"
	Seatbelt   Method = "seatbelt" // sandbox-exec(1) of macOS
)

// Bind shows the file or directory From at the path To. Both are absolute.
type Bind struct {
	From  string `json:"from"`
	To    string `json:"to"`
	Write bool   `json:"write,omitempty"`
}

// Limits are those that sandbox-exec sets; 0 means no bound. A limit that a control
// group enforces is not among them.
type Limits struct {
	Memory    int64 `json:"memory,omitempty"`    // bytes of data of one process
	Processes int64 `json:"processes,omitempty"` // at once; needs bubblewrap, and a user who is not root
	Files     int64 `json:"files,omitempty"`     // bytes of one file
}

// Network says whom the program can connect to.
type Network struct {
	// Off cuts all but its own loopback.
	Off bool `json:"off,omitempty"`
	// Allow lists the hosts that it can reach, as in `network` of a profile; it
	// implies that all others are out of reach. With Off it is empty.
	Allow []string `json:"allow,omitempty"`
	// Log is the file where the proxy writes what it denies (egress.ReadDenials),
	// "" without Allow.
	Log string `json:"log,omitempty"`
	// Masked lists the variables whose values the program does not have, as
	// egress.ParseSecrets reads them. Secrets is the file from which the proxy takes the
	// values; it removes that file. Both need Allow.
	Masked  []string `json:"masked,omitempty"`
	Secrets string   `json:"secrets,omitempty"`
}

// Policy is what one session may do. All paths are absolute, clean, and have no
// symbolic link in them when the policy is made; sandbox-exec checks that again.
//
// The file system is read-only but for what follows. Of Writable, Hidden and Show
// the deepest path above a file decides, and of equal paths Writable before Show
// before Hidden. Then Binds are made in their order, then ReadOnly, but for those of
// ReadOnly that a bind lies below: of them and the binds the deeper one decides.
type Policy struct {
	Schema int    `json:"schema"` // 1
	Level  Level  `json:"level"`
	Method Method `json:"method"`
	// Session and Workspace are ids, for messages.
	Session   string `json:"session"`
	Workspace string `json:"workspace"`
	// Dir is where the program starts.
	Dir string `json:"dir"`
	// Writable are existing directories and files that the program may change.
	Writable []string `json:"writable,omitempty"`
	// Hidden are files and directories that it must not read. Those that do not
	// exist are left out when the policy is made.
	Hidden []string `json:"hidden,omitempty"`
	// Show are paths below a Hidden one that it may read.
	Show []string `json:"show,omitempty"`
	// Binds need bubblewrap.
	Binds []Bind `json:"binds,omitempty"`
	// ReadOnly are paths below a writable one that it must not change.
	ReadOnly []string `json:"read_only,omitempty"`
	// Temp is an empty directory of the session's own. Under bubblewrap it is
	// what the program sees at /tmp, /var/tmp and TempPaths.
	Temp string `json:"temp"`
	// TempPaths are further paths where the program sees Temp, such as its TMPDIR.
	TempPaths []string `json:"temp_paths,omitempty"`
	// Env are variables of the program, NAME=value each, that no process outside has.
	Env     []string `json:"env,omitempty"`
	Network Network  `json:"network,omitzero"`
	Limits  Limits   `json:"limits,omitzero"`

	dies  bool   // --die-with-parent: the program ends with the process that started the helper
	state string // --state: the state directory of the session, "" for none
}

// Digest is the SHA-256 of a policy, in hexadecimal. Each field counts.
func (p Policy) Digest() string {
	raw, err := json.Marshal(p)
	if err != nil {
		panic(err) // strings, numbers and lists of these: they always encode
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
