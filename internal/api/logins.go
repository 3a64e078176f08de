package api

import "time"

// NewLoginLink asks for a login link.
type NewLoginLink struct {
	File bool `json:"file,omitempty" doc:"Also write a page that sends a browser to the link; only over the Unix socket"`
	Port int  `json:"port,omitempty" minimum:"1" maximum:"65535" doc:"The forwarded port through which the browser reaches the server, if it uses one"`
}

// LoginLink logs one browser in, once.
type LoginLink struct {
	URL string `json:"url"`
	// File is the path of a page that leads a browser to URL, so that no command
	// line contains the link. The file exists until the link is used or expires.
	File string `json:"file,omitempty"`
}

// NewLogin trades the secret of a login link for a login. Browsers make the key
// pair with WebCrypto, so that no script, not even the page's, can read the
// private key.
type NewLogin struct {
	Token string `json:"token" doc:"The link's secret: the part after #login=" maxLength:"256"`
	Key   []byte `json:"key" doc:"The public key, an uncompressed point of P-256" maxLength:"256"`
	Name  string `json:"name,omitempty" doc:"What the browser calls itself" maxLength:"256"`
}

// NewLoginAnswer has what a browser keeps of its login, besides its own key.
type NewLoginAnswer struct {
	ID       string `json:"id"`
	Instance string `json:"instance" doc:"Identifies the server; both sides sign it"`
	// ServerKey verifies the server's later signatures.
	ServerKey []byte    `json:"server_key" doc:"The server's public key, an uncompressed point of P-256"`
	ExpiresAt time.Time `json:"expires_at"`
}

// LoginChallenge asks the server to authenticate itself, and for a nonce.
type LoginChallenge struct {
	Login string `json:"login" maxLength:"256"`
	Nonce string `json:"nonce" doc:"The browser's nonce, which the server signs" minLength:"16" maxLength:"256"`
}

// LoginNonce is the answer to a LoginChallenge.
type LoginNonce struct {
	Nonce     string `json:"nonce" doc:"The nonce that the browser must sign, once and within a minute"`
	Signature []byte `json:"signature" doc:"The server's signature of these, each on a line: middleman server v1, instance, origin, login, the browser's nonce and this one"`
}

// LoginProof is the answer to a LoginNonce.
type LoginProof struct {
	Login     string `json:"login" maxLength:"256"`
	Nonce     string `json:"nonce" maxLength:"256"`
	Signature []byte `json:"signature" doc:"The browser's signature of these, each on a line: middleman login v1, instance, origin, login and nonce. It is ECDSA with SHA-256, as r and s of 32 bytes each" maxLength:"256"`
}

// Access is an access token. Requests have it in the header
// Authorization: Bearer TOKEN.
type Access struct {
	Token     string `json:"token"`
	ExpiresIn int    `json:"expires_in" doc:"Seconds"`
}

// NewTicket asks for a ticket, which is valid for one request for one session.
type NewTicket struct {
	For string `json:"for" enum:"attach,watch,output,recording"`
}

// Ticket authenticates one request: as the subprotocol ticket.TICKET of a
// WebSocket, or as the query parameter ticket of a download.
type Ticket struct {
	Ticket    string `json:"ticket"`
	ExpiresIn int    `json:"expires_in" doc:"Seconds"`
}

// Login is a browser that is logged in.
type Login struct {
	ID         string    `json:"id"`
	Name       string    `json:"name"`
	UserAgent  string    `json:"user_agent"`
	Address    string    `json:"address" doc:"The browser's address when it logged in"`
	Origin     string    `json:"origin"`
	CreatedAt  time.Time `json:"created_at"`
	LastUsedAt time.Time `json:"last_used_at"`
	ExpiresAt  time.Time `json:"expires_at" doc:"When the login ends at the latest; one that is not used ends earlier"`
	Current    bool      `json:"current" doc:"Whether it is the login of this request"`
}

// Logins has all browsers that are logged in.
type Logins struct {
	Logins []Login `json:"logins"`
}
