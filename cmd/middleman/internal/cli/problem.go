package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"middleman/internal/api"
	"middleman/internal/plaintext"
)

// Codes of problems that a command finds itself. Those of the server are in package
// api.
const (
	codeUsage        = "usage"
	codeInterrupted  = "interrupted"
	codeDisconnected = "disconnected"
	codeNotAttached  = "not-attached"
	codeOther        = "error"
)

// problemCodes are the codes of errors without a problem of the server, by exit code.
var problemCodes = map[int]string{
	exitUsage: codeUsage, exitChanged: api.CodeChanged, exitTimeout: api.CodeTimeout,
	exitInterrupted: codeInterrupted, exitQuit: codeInterrupted, exitDisconnected: codeDisconnected, exitNotAttached: codeNotAttached,
}

// coded is an error of a command that has the code of a problem.
type coded interface {
	error
	ProblemCode() string
}

// printError prints a command's error to standard error: as a problem with --json,
// which args may have although they could not be parsed, else as a line.
func (c *CLI) printError(err error, exit int, args []string) {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	if !c.JSON && !slices.Contains(args, "--json") {
		fmt.Fprintln(c.Errs, "middleman:", Message(err))
		return
	}
	out := plaintext.NewJSONWriter(c.BytesErrs)
	if err := errors.Join(json.NewEncoder(out).Encode(map[string]any{"schema": api.SchemaVersion, "problem": printed(problemOf(err, exit))}), out.Flush()); err != nil {
		fmt.Fprintln(c.Errs, "middleman:", err)
	}
}

// printedProblem is a problem without the status of HTTP, if a command found it itself.
type printedProblem struct {
	api.Problem
	Title  string `json:"title,omitempty"`
	Status int    `json:"status,omitempty"`
}

func printed(p api.Problem) printedProblem { return printedProblem{p, p.Title, p.Status} }

// problemOf returns the problem that err is or wraps, with the message that a command
// prints as its detail; else one with the code that belongs to the exit code.
func problemOf(err error, exit int) api.Problem {
	p := api.Problem{Type: "about:blank", Code: codeOther}
	if code, ok := problemCodes[exit]; ok {
		p.Code = code
	}
	if coded, ok := errors.AsType[coded](err); ok {
		p.Code = coded.ProblemCode()
	}
	if known, ok := errors.AsType[*api.Problem](err); ok {
		p = *known
	}
	if p.Title == "" {
		p.Title = http.StatusText(p.Status)
	}
	p.Detail = Message(err)
	return p
}
