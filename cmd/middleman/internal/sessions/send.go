package sessions

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/catalog"
	"middleman/cmd/middleman/internal/cli"
	"middleman/terminal"
	"middleman/terminal/await"
	"middleman/terminal/keys"
)

// sendChunk is how many bytes of standard input are typed at a time.
const sendChunk = 64 << 10

type sendFlags struct {
	enter    bool
	keys     bool
	key      []string
	expect   string
	rows     string
	idle     time.Duration
	waitText string
	timeout  time.Duration
	prompt   bool
	answer   bool
	when     string
}

func (c commands) sendCommand() *cobra.Command {
	var f sendFlags
	cmd := &cobra.Command{
		Use:   "send TARGET [--enter] [--key NAME]... TEXT... | --keys NAME... | --prompt TEXT... | -",
		Short: `Type into a session; "-" types standard input, byte for byte`,
		Long: `Type into a session; "-" types standard input, byte for byte.

--key presses a key after the text. With --keys all arguments are names of keys,
as in tmux: Enter, Escape, Tab, BSpace, Up, F1, C-c, M-x, or one character.

--expect types only if the screen is still the one that you saw: either nothing
was printed since OFFSET, or the screen's text has HASH. capture --json prints
both. With --expect-rows the hash is that of these rows, so that a clock in
another row does not matter. --if-idle types only if nothing was printed for this
long. Otherwise nothing is typed, and the exit code is 3.

The session's owner decides. It reads all output that has arrived, compares, and
types at most 32 KiB, and draws no output in between. It cannot know output that
is still on its way from the program, through the system or tmux. A text and the
keys after it are typed at once: a dialog that takes one character leaves the Enter
to what comes next. Answer one with --prompt --answer, which looks again before Enter.

--prompt gives a coding agent its next prompt: it pastes the text and then presses
the submit key of the session's profile. Both are typed only if the screen is the
one that --expect names. Without --expect it must be a screen that ends with the line
in which the program takes a prompt, which is known of claude, codex and gemini; a
title is no proof. From this comparison on, the program's output is held until it has
begun to read, so that the text answers no dialog that appears meanwhile. If the screen
shows more than the text after the paste, or other text beside it, it is not submitted.
Prompts for one session go one after the other.
--answer sends the text also to a dialog, or where it is not known what shows.
--when idle waits until the agent waits for its next prompt, or for --timeout.

--wait-text waits until the text is printed after the typing. Typed text counts
too if the terminal echoes it. --json prints the offset at the typing, for wait
--from.`,
		Args: cli.Args(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			if err := f.check(cmd, given); err != nil {
				return err
			}
			if f.prompt {
				return c.prompt(cmd.Context(), given[0], given[1:], &f)
			}
			return c.sendTo(cmd.Context(), given[0], given[1:], &f)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.enter, "enter", false, "press Enter at the end")
	flags.BoolVar(&f.keys, "keys", false, "the arguments are names of keys")
	flags.StringArrayVar(&f.key, "key", nil, "press this key after the text; repeatable")
	flags.StringVar(&f.expect, "expect", "", "type only if this `OFFSET|HASH` is that of the screen")
	flags.StringVar(&f.rows, "expect-rows", "", "the hash is that of rows `A-B`, counted from 1")
	flags.DurationVar(&f.idle, "if-idle", 0, "type only if the program has printed nothing for this long")
	flags.BoolVar(&f.prompt, "prompt", false, "paste the text and press the profile's submit key")
	flags.BoolVar(&f.answer, "answer", false, "with --prompt: also if a dialog shows, or if that is not known")
	flags.StringVar(&f.when, "when", "", "with --prompt: wait until the agent is \"`idle`\"")
	flags.StringVar(&f.waitText, "wait-text", "", "then wait until this text is printed")
	flags.DurationVar(&f.timeout, "timeout", 0, "with --wait-text or --when: give up after so long, with exit code 124 (default: never)")
	return cmd
}

// sendTo types at the session that target means, waits if that was asked for,
// and prints the offset with --json.
func (c commands) sendTo(ctx context.Context, target string, args []string, f *sendFlags) error {
	expect, err := f.expected()
	if err != nil {
		return err
	}
	ctx, cancel := withTimeout(ctx, f.timeout)
	defer cancel()
	t, err := catalog.Find(ctx, c.CLI, target)
	if err != nil {
		return timedOut(ctx, f.timeout, target, err)
	}
	var result sent
	if result.Offset, err = c.send(ctx, t.Session, args, f, expect); err != nil {
		return timedOut(ctx, f.timeout, t.Label(), fmt.Errorf("type at %s: %w", t.Label(), err))
	}
	f.noteKey(c, args)
	return c.sent(ctx, t, f, result)
}

// sent waits for the answer to what was sent, if that was asked for, and prints
// the offset with --json.
func (c commands) sent(ctx context.Context, t catalog.Target, f *sendFlags, result sent) (err error) {
	if f.waitText != "" {
		if result.Waited, err = waitPrinted(ctx, t.Session, f.waitText, result.Offset); err != nil {
			return timedOut(ctx, f.timeout, t.Label(), fmt.Errorf("typed at %s; wait for %q: %w", t.Label(), f.waitText, err))
		}
	}
	if c.JSON {
		return c.PrintJSON(result)
	}
	return nil
}

// noteKey says that the name of a key was typed as text, as tmux would not do.
func (f *sendFlags) noteKey(c commands, args []string) {
	if f.keys || f.enter || len(f.key) > 0 || len(args) == 0 {
		return
	}
	switch last := args[len(args)-1]; last {
	case "Enter", "C-m", "C-c", "C-d", "Escape":
		fmt.Fprintf(c.Errs, "middleman: note: %s was typed as text; --key %s presses the key\n", last, last)
	}
}

// check refuses flags and arguments that do not go together.
func (f *sendFlags) check(cmd *cobra.Command, given []string) error {
	changed := cmd.Flags().Changed
	switch {
	case f.prompt && (f.enter || f.keys || len(f.key) > 0 || changed("if-idle")):
		return cli.Usagef("--prompt does not go with --enter, --key, --keys and --if-idle: the profile says which key submits")
	case f.prompt && len(given) == 1:
		return cli.Usagef("--prompt needs a text, or - for standard input")
	case f.answer && !f.prompt:
		return cli.Usagef("--answer goes with --prompt")
	case len(given) == 1 && !f.enter && len(f.key) == 0:
		return cli.Usagef("send needs something to type: TEXT, - or --enter")
	case noTime(cmd, f.timeout):
		return errNoTime
	case f.idle < 0 || f.timeout < 0:
		return cli.Usagef("a duration is not negative")
	case changed("if-idle") && f.idle == 0:
		return cli.Usagef("--if-idle needs a duration above zero")
	case changed("expect-rows") && !changed("expect"):
		return cli.Usagef("--expect-rows goes with --expect HASH")
	case changed("expect") && f.expect == "":
		return cli.Usagef("--expect is empty: it needs the offset or the hash that capture --json tells")
	case changed("wait-text") && f.waitText == "":
		return cli.Usagef("--wait-text needs a text")
	case changed("when") && (f.when != "idle" || !f.prompt):
		return cli.Usagef("--when is %q: it must be idle, and goes with --prompt", f.when)
	case changed("timeout") && f.waitText == "" && f.when == "":
		return cli.Usagef("--timeout goes with --wait-text and --when")
	}
	names := f.key
	if f.keys {
		names = slices.Concat(given[1:], names)
	}
	for _, name := range names {
		if _, err := keys.Bytes(name, false); err != nil {
			return cli.Usagef("%w", err)
		}
	}
	return nil
}

// expected returns what must hold for the input to be typed.
func (f *sendFlags) expected() (e terminal.Expect, err error) {
	if f.expect != "" {
		if e, err = terminal.ParseExpect(f.expect); err != nil {
			return e, cli.Usagef("--expect: %w", err)
		}
	}
	if f.rows != "" {
		if e.Rows, err = terminal.ParseRows(f.rows); err != nil {
			return e, cli.Usagef("--expect-rows: %w", err)
		}
		if e.Hash == "" {
			return e, cli.Usagef("--expect-rows goes with --expect HASH")
		}
	}
	e.Idle = f.idle
	return e, nil
}

// sent is what send prints with --json.
type sent struct {
	Offset uint64  `json:"offset"` // the head at the typing
	Waited *waited `json:"waited,omitempty"`
}

// send types what the arguments and flags say, and returns the offset at the
// typing. Where something is expected, all of it is typed at once.
func (c commands) send(ctx context.Context, s terminal.Session, args []string, f *sendFlags, expect terminal.Expect) (offset uint64, err error) {
	names := f.key
	if f.keys {
		args, names = nil, append(args, names...)
	}
	if f.enter {
		names = append(names, "Enter")
	}
	pressed, err := keys.Of(ctx, s, names)
	if err != nil {
		return 0, err
	}
	p := []byte(strings.Join(args, " "))
	if len(args) == 1 && args[0] == "-" {
		if expect == (terminal.Expect{}) {
			return c.sendInput(ctx, s, pressed)
		}
		c.Uncatch()
		if p, err = io.ReadAll(io.LimitReader(c.In, terminal.MaxExpected+1)); err != nil {
			return 0, fmt.Errorf("read standard input: %w", err)
		}
	}
	return s.Type(ctx, append(p, pressed...), expect)
}

// waitPrinted waits until text is printed from an offset on.
func waitPrinted(ctx context.Context, s terminal.Session, text string, from uint64) (*waited, error) {
	match, err := await.Text(text)
	if err != nil {
		return nil, err
	}
	found, err := await.Wait(ctx, s, await.Condition{Match: match, From: &from})
	return &waited{found.Match, found.Offset, found.Exit}, err
}

// sendInput types standard input as it arrives, and then pressed. It returns the
// offset at the first typing. A blocked read cannot be cancelled, so sendInput
// lets an interrupt end the process.
func (c commands) sendInput(ctx context.Context, s terminal.Session, pressed []byte) (offset uint64, err error) {
	c.Uncatch()
	in := io.MultiReader(c.In, bytes.NewReader(pressed))
	buf := make([]byte, sendChunk)
	for first := true; ; first = false {
		n, err := in.Read(buf)
		if err != nil && !errors.Is(err, io.EOF) {
			return offset, fmt.Errorf("read standard input: %w", err)
		}
		if n > 0 || first {
			at, typeErr := s.Type(ctx, buf[:n], terminal.Expect{})
			if typeErr != nil {
				return offset, typeErr
			}
			if first {
				offset = at
			}
		}
		if err != nil {
			return offset, nil
		}
	}
}
