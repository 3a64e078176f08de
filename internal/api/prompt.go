package api

// Prompt asks to send a text to a session's program and to submit it.
type Prompt struct {
	Text       string `json:"text" doc:"Without control characters except newlines and tabs; at most 64 KiB" maxLength:"65536"`
	Expect     string `json:"expect,omitempty" doc:"Send it only if nothing was printed since this offset, or if the screen's text has this hash, as capture tells them. Unset means that the server looks, and the screen must end with the line in which the program of the profile takes a prompt"`
	ExpectRows string `json:"expect_rows,omitempty" doc:"The rows that a hash is of, such as 20-24; unset means the whole screen"`
	Answer     bool   `json:"answer,omitempty" doc:"Send it also if a dialog shows, or if that is not known"`
	When       string `json:"when,omitempty" enum:"idle" doc:"idle: wait until the program waits for its next prompt. If it waits for an answer instead, the text is refused, unless answer is set"`
	Timeout    string `json:"timeout,omitempty" doc:"With when: give up after so long, such as 30s, which is the default; at most an hour"`
}

// Prompted is the answer to a prompt.
type Prompted struct {
	Offset uint64 `json:"offset" doc:"The offset at the submit: what the program prints in answer comes from there on"`
}
