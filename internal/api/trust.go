package api

import "time"

// RepoConfig is the .middleman.toml of a checkout, and whether the user trusts
// it. The server uses it only if the user does.
type RepoConfig struct {
	Repository string            `json:"repository" doc:"Top of the checkout that it was read from"`
	File       string            `json:"file"`
	Present    bool              `json:"present"`
	Hash       string            `json:"hash,omitempty" doc:"SHA-256 of the content, which an agreement names"`
	Content    string            `json:"content,omitempty"`
	Trusted    bool              `json:"trusted" doc:"The user agreed to exactly this content, in this repository"`
	Problem    string            `json:"problem,omitempty" doc:"Why it cannot be used"`
	Setup      []string          `json:"setup,omitempty" doc:"Commands for a new workspace"`
	Teardown   []string          `json:"teardown,omitempty" doc:"Commands before a workspace is deleted"`
	Check      []string          `json:"check,omitempty" doc:"Commands before a workspace is merged"`
	Copy       []string          `json:"copy,omitempty" doc:"Patterns of files that git ignores, to be copied from the main checkout"`
	Ports      *int              `json:"ports,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Profiles   []string          `json:"profiles,omitempty" doc:"The names of its profiles"`
}

// Approve trusts the configuration in a workspace's checkout.
type Approve struct {
	Hash  string `json:"hash" doc:"The hash of the content that the user has seen"`
	Setup bool   `json:"setup,omitempty" doc:"Apply the configuration to the workspace and run its setup before answering"`
}

// ApproveIn trusts the configuration in the checkout that contains Directory.
type ApproveIn struct {
	Directory string `json:"directory"`
	Hash      string `json:"hash"`
}

// Approved is the answer to Approve and ApproveIn.
type Approved struct {
	Config    RepoConfig `json:"config"`
	Workspace *Workspace `json:"workspace,omitempty" doc:"The workspace with its stages, if its setup was to be run"`
}

// Trust is one trusted configuration.
type Trust struct {
	GitDir     string    `json:"git_dir" doc:"The repository's common git directory"`
	Hash       string    `json:"hash"`
	Content    string    `json:"content"`
	ApprovedAt time.Time `json:"approved_at"`
}

// Trusts has all trusted configurations.
type Trusts struct {
	Trusted []Trust `json:"trusted"`
}

// Revoked has the number of configurations that are no longer trusted.
type Revoked struct {
	Revoked int `json:"revoked"`
}

// SetupLog is the output of setup or teardown; of a long output, the last part.
type SetupLog struct {
	Text string `json:"text"`
}
