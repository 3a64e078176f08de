package api

import "time"

// Token is the record of an API token, without its secret.
type Token struct {
	ID         string     `json:"id"`
	Name       string     `json:"name"`
	Scope      string     `json:"scope" enum:"full,read,session" doc:"full: everything; read: everything that changes nothing; session: watch one session"`
	Session    string     `json:"session,omitempty" doc:"With the scope session: the id of the session"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty" doc:"Unset: never"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty" doc:"To the minute; unset: never"`
	Login      string     `json:"login,omitempty" doc:"The login of the browser that made it, or that made the token which made it; unset: a process of this user"`
	MadeBy     string     `json:"made_by,omitempty" doc:"The id of the token that made it, if one did"`
}

// NewToken asks for a token.
type NewToken struct {
	Name    string `json:"name" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$" patternDescription:"1 to 64 letters, digits, dots, dashes or underscores"`
	Scope   string `json:"scope" enum:"full,read,session"`
	Session string `json:"session,omitempty" doc:"With the scope session: the id of the session"`
	Life    string `json:"life,omitempty" doc:"How long it is valid, such as 720h; unset: until it is revoked"`
}

// CreatedToken is a new or rotated token with its secret. No other answer has the
// secret.
type CreatedToken struct {
	Token  Token  `json:"token"`
	Secret string `json:"secret"`
}

// Tokens has all tokens.
type Tokens struct {
	Tokens []Token `json:"tokens"`
}
