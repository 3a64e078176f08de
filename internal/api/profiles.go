package api

import "middleman/internal/sandbox"

// Profile is a profile as a session with it would be started now.
type Profile struct {
	Name        string        `json:"name" doc:"What a request for a session has as its profile"`
	Program     string        `json:"program,omitempty" doc:"The product's name; unset for one that is not built in"`
	Source      string        `json:"source" doc:"Where it is defined: built-in, config.toml, or the repository's file"`
	Path        string        `json:"path,omitempty" doc:"The program, found in the PATH of the user's login; unset if it cannot be started"`
	Problem     string        `json:"problem,omitempty" doc:"Why it cannot be started, such as: not found in PATH"`
	TakesPrompt bool          `json:"takes_prompt" doc:"Whether it can be given a first prompt"`
	Sandbox     sandbox.Level `json:"sandbox,omitempty" enum:"none,workspace,strict" doc:"The level of a session for which none is named. The host's policy may make that of a bundle's profile stricter"`
}

// Profiles are the profiles that a session can be started with, built-in ones first.
type Profiles struct {
	Profiles []Profile `json:"profiles"`
}
