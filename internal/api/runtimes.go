package api

import "time"

// Runtime is a remote runtime: another server, whose workspaces and sessions this
// one lists and drives.
type Runtime struct {
	Name      string     `json:"name"`
	Kind      string     `json:"kind" enum:"ssh,https"`
	Address   string     `json:"address,omitempty" doc:"How it is reached; over the Unix socket only"`
	State     string     `json:"state" enum:"unknown,reachable,unreachable,refused" doc:"What the last call told. unreachable says nothing about its sessions; refused means that somebody must change something"`
	Reason    string     `json:"reason,omitempty" doc:"Why it is not reachable, as a word"`
	Detail    string     `json:"detail,omitempty" doc:"Why, as a sentence"`
	Version   string     `json:"version,omitempty" doc:"Its build, when it last answered"`
	Since     time.Time  `json:"since" doc:"Since when it is in this state, as far as this server knows"`
	CheckedAt *time.Time `json:"checked_at,omitempty" doc:"When a call last told its state"`
}

// Runtimes has all remote runtimes.
type Runtimes struct {
	Runtimes []Runtime `json:"runtimes"`
}

// Overview has what all remote runtimes have, in the order of their names.
type Overview struct {
	Runtimes []RuntimeList `json:"runtimes"`
}

// RuntimeList is what one remote runtime has.
type RuntimeList struct {
	RuntimeAnswer
	Workspaces []Workspace `json:"workspaces"`
	Sessions   []Session   `json:"sessions"`
}

// RuntimeAnswer says whether a remote runtime has told what it has.
type RuntimeAnswer struct {
	Runtime Runtime    `json:"runtime"`
	Current bool       `json:"current" doc:"Whether the runtime has answered this time. If not, its lists are those of its last answer, and sessions that had not ended then are unreachable, which says nothing about their programs"`
	AsOf    *time.Time `json:"as_of,omitempty" doc:"When the runtime told its lists; unset if it never did, since this server started"`
}

// NewRuntime asks to add a remote runtime.
type NewRuntime struct {
	Name      string `json:"name" pattern:"^[a-z0-9][a-z0-9-]{1,31}$" patternDescription:"2 to 32 lower-case letters, digits and dashes"`
	Address   string `json:"address" doc:"ssh://[USER@]HOST[:PORT] or https://HOST[:PORT]"`
	Pin       string `json:"pin,omitempty" doc:"For https: the SHA-256 of its certificate, or of the authority that vouches for it, where the system knows neither"`
	TokenFile string `json:"token_file,omitempty" doc:"For https: the absolute path of a file, mode 0600, with a token of the remote"`
	Command   string `json:"command,omitempty" doc:"For ssh: the program that is middleman there; unset means middleman, in PATH"`
}
