package api

import "time"

// Match is a line of a session's kept output that was searched for.
type Match struct {
	SessionID     string     `json:"session_id"`
	SessionName   string     `json:"session_name"`
	WorkspaceName string     `json:"workspace_name" doc:"The workspace's label"`
	DeletedAt     *time.Time `json:"workspace_deleted_at,omitempty" doc:"When the session's workspace was deleted, if it was"`
	Offset        uint64     `json:"offset" doc:"Where the line began when it was last printed"`
	Times         int        `json:"times" doc:"How often it was printed: a program that draws a screen prints a line again and again"`
	Line          string     `json:"line" doc:"Without control sequences; of a long one the beginning"`
}

// Matches has the lines that a search found.
type Matches struct {
	Matches []Match `json:"matches" doc:"By session, the newest first; of each the lines that were printed last, in their order"`
	// Searched and Left count sessions.
	Searched int      `json:"searched" doc:"How many sessions were searched"`
	Left     int      `json:"left,omitempty" doc:"How many were not, because time was over or enough was found: search for something rarer"`
	Failed   []string `json:"failed,omitempty" doc:"Which sessions could not be read, and why"`
}
