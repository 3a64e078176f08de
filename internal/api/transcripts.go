package api

import "time"

// TranscriptCount counts the sessions of a deleted workspace by whether their
// transcripts are kept.
type TranscriptCount struct {
	Sessions int   `json:"sessions" doc:"Sessions whose transcripts are kept"`
	Bytes    int64 `json:"bytes" doc:"How much disk space these transcripts take"`
	Gone     int   `json:"gone,omitempty" doc:"Sessions whose transcripts are not kept, because of forget_transcripts or of the setting transcripts.keep"`
}

// Transcripts says how many transcripts of one deleted workspace were removed, or
// with a dry run would be.
type Transcripts struct {
	WorkspaceID   string    `json:"workspace_id"`
	WorkspaceName string    `json:"workspace_name"`
	DeletedAt     time.Time `json:"deleted_at"`
	Sessions      int       `json:"sessions" doc:"How many transcripts were removed, or would be"`
	Bytes         int64     `json:"bytes" doc:"How much disk space they took"`
	Error         string    `json:"error,omitempty" doc:"Why some could not be removed"`
}

// ForgottenTranscripts is the answer to a request to remove transcripts.
type ForgottenTranscripts struct {
	DryRun      bool          `json:"dry_run"`
	Transcripts []Transcripts `json:"transcripts"`
	Bytes       int64         `json:"bytes" doc:"How much disk space all of them took"`
}
