package api

import "time"

// RepoConfig is .middleman.toml of a checkout, and whether the user agreed to
// it. Nothing of it is used without that.
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
	Copy       []string          `json:"copy,omitempty" doc:"Patterns of files that git ignores, to be copied from the main checkout"`
	Ports      *int              `json:"ports,omitempty"`
	Env        map[string]string `json:"env,omitempty"`
	Profiles   []string          `json:"profiles,omitempty" doc:"Their names"`
}

// Approve agrees to the configuration of a workspace's checkout.
type Approve struct {
	Hash  string `json:"hash" doc:"Of the content that the user has seen"`
	Setup bool   `json:"setup,omitempty" doc:"Give the workspace what the configuration says, and run its setup, before the answer"`
}

// ApproveIn agrees to the configuration of the checkout that a directory is in.
type ApproveIn struct {
	Directory string `json:"directory"`
	Hash      string `json:"hash"`
}

// Approved is the answer to an agreement.
type Approved struct {
	Config    RepoConfig `json:"config"`
	Workspace *Workspace `json:"workspace,omitempty" doc:"With its stages, where its setup was to be run"`
}

// Trust is one agreement.
type Trust struct {
	GitDir     string    `json:"git_dir" doc:"The repository's common git directory"`
	Hash       string    `json:"hash"`
	Content    string    `json:"content"`
	ApprovedAt time.Time `json:"approved_at"`
}

// Trusts are all agreements.
type Trusts struct {
	Trusted []Trust `json:"trusted"`
}

// Revoked says how many agreements were taken back.
type Revoked struct {
	Revoked int `json:"revoked"`
}

// SetupLog is what setup or teardown printed, the last of it where it is much.
type SetupLog struct {
	Text string `json:"text"`
}
