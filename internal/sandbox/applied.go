package sandbox

// Applied is what the sandbox of a session does, in the form for people and
// programs. It has no path of middleman's own state.
type Applied struct {
	Level  Level  `json:"level"`
	Method Method `json:"method"`
	// Digest is that of the session's Policy.
	Digest     string   `json:"digest" doc:"The SHA-256 of its policy"`
	Writable   []string `json:"writable" doc:"The directories that the program may change"`
	Private    []string `json:"private,omitempty" doc:"The directories of which it has a copy of its own"`
	Temp       string   `json:"temp" doc:"Where it has its temporary files"`
	Network    string   `json:"network" doc:"Whom it can connect to"`
	Hosts      []string `json:"hosts,omitempty" doc:"The network list, if it has one"`
	Secrets    []string `json:"secrets,omitempty" doc:"The variables that have placeholders, and the hosts that get their values"`
	Limits     string   `json:"limits" doc:"What bounds its memory and processes"`
	NotCovered string   `json:"not_covered,omitempty" doc:"What the method leaves open"`
}
