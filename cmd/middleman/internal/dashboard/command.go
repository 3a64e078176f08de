package dashboard

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"

	tea "charm.land/bubbletea/v2"

	"middleman/cmd/middleman/internal/quit"
)

// result is what a command has printed.
type result struct {
	code      int
	out, errs string
	err       error // the command could not be run
	then      func(result) tea.Cmd
}

// problem returns why the command failed, in a line.
func (r result) problem() string {
	if r.err != nil {
		return r.err.Error()
	}
	if line := lastLine(r.errs); line != "" {
		return strings.TrimPrefix(line, "middleman: ")
	}
	return fmt.Sprintf("exit code %d", r.code)
}

// text is all that the command has printed.
func (r result) text() string {
	return strings.TrimSpace(r.out+"\n"+strings.ReplaceAll("\n"+r.errs, "\nmiddleman: ", "\n")) + "\n"
}

// lastLine returns the last line of text that is not blank.
func lastLine(text string) string {
	text = strings.TrimRight(text, "\n")
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// run runs a command line in the background, and then calls then with what it has
// printed. Until then the last line says what is done.
func (d *dashboard) run(doing string, then func(result) tea.Cmd, args ...string) tea.Cmd {
	d.doing, d.note = doing+"...", ""
	return func() tea.Msg {
		r := d.capture(args...)
		r.then = then
		return r
	}
}

// capture runs a command line without a terminal, and returns what it has printed.
func (d *dashboard) capture(args ...string) (r result) {
	in, err := os.Open(os.DevNull)
	if err != nil {
		return result{err: err}
	}
	defer in.Close()
	from, to, err := os.Pipe()
	if err != nil {
		return result{err: err}
	}
	defer from.Close()
	var out, errs bytes.Buffer
	read := make(chan error, 1)
	go func() {
		_, err := io.Copy(&out, from)
		read <- err
	}()
	r.code = d.command(in, to, &errs, nil, args...)
	to.Close()
	r.err = <-read
	r.out, r.errs = out.String(), errs.String()
	return r
}

// takeResult goes on after a command.
func (d *dashboard) takeResult(r result) tea.Cmd {
	d.doing = ""
	d.readAgain()
	return r.then(r)
}

// onTerminal runs a command line that takes the terminal: attach.
type onTerminal struct {
	d    *dashboard
	args []string
	code int
	errs bytes.Buffer
}

func (*onTerminal) SetStdin(io.Reader)  {}
func (*onTerminal) SetStdout(io.Writer) {}
func (*onTerminal) SetStderr(io.Writer) {}

// Run runs it. What it says is shown when the dashboard is back.
func (o *onTerminal) Run() error {
	o.code = o.d.command(o.d.cli.In, o.d.cli.BytesOut, &o.errs, o.d.input.ahead(), o.args...)
	o.d.input.back()
	return nil
}

// give gives the terminal to a command line, and shows the dashboard again when that
// has ended.
func (d *dashboard) give(args ...string) tea.Cmd {
	d.hide()
	d.away, d.notAway = true, quit.Detaches()
	o := &onTerminal{d: d, args: args}
	return tea.Exec(o, func(err error) tea.Msg { return back{o, err} })
}

// back says that the terminal is the dashboard's again.
type back struct {
	from *onTerminal
	err  error // the terminal could not be had
}

// takeBack shows the dashboard again.
func (d *dashboard) takeBack(b back) tea.Cmd {
	d.away = false
	d.notAway()
	r := result{code: b.from.code, errs: b.from.errs.String(), err: b.err}
	if b.err != nil || notAttached(r.code) {
		d.note = r.problem()
	}
	d.show()
	return nil
}

// notAttached reports whether an exit code of attach is not that of the program.
func notAttached(code int) bool { return code == 254 || code == 255 }
