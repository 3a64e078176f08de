package bundle

// Launched is what a session keeps of the bundle that it was started with.
type Launched struct {
	ID       string  `json:"id"`
	Revision int64   `json:"revision"`
	Digest   string  `json:"digest"`
	Profile  string  `json:"profile" doc:"The bundle's profile that was launched"`
	Grants   []Grant `json:"grants" doc:"What the profile asked of the host, and what that gave"`
}

// Results of a grant.
const (
	Granted  = "granted"
	Narrowed = "narrowed"
	Refused  = "refused"
)

// Grant is the host's decision about one declaration.
type Grant struct {
	Asked    string `json:"asked" doc:"The declaration, such as mount-grant:go-cache"`
	Write    bool   `json:"write,omitempty" doc:"Whether a mount was asked for that the program may change"`
	Optional bool   `json:"optional,omitempty" doc:"Whether the program starts without it"`
	Result   string `json:"result" enum:"granted,narrowed,refused"`
	Given    string `json:"given,omitempty" doc:"What was given, where that is not what was asked"`
	Rule     string `json:"rule" doc:"The rule of the host's policy that decided"`
	Reason   string `json:"reason,omitempty" doc:"Why it was refused"`
}
