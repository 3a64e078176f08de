// Package agent knows how coding agents, and other programs with a name, are
// launched: the built-in profiles, and those of a user and of a repository. It
// starts nothing.
package agent

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"middleman/internal/egress"
	"middleman/terminal"
	"middleman/terminal/keys"
)

// Shell is the name of the profile that starts the user's shell.
const Shell = "shell"

// The sources of profiles.
const (
	BuiltIn    = "built-in"
	User       = "config.toml"
	Repository = "repository" // its .middleman.toml, once agreed to
	Bundle     = "bundle"     // what the host grants of it
)

// Limits of what is taken for a profile.
const (
	maxItems  = 100      // of a list
	MaxPrompt = 64 << 10 // bytes of a prompt: the first is an argument, and the kernel bounds these
)

// Placeholders in the lists of a Definition.
const (
	promptHole       = "{prompt}"
	conversationHole = "{conversation}"
)

// Definition is a profile as it is written in TOML.
type Definition struct {
	// Command starts the program: its name or absolute path, and arguments.
	Command []string `toml:"command"`
	// Prompt are further arguments if there is a first prompt. {prompt} in one
	// of them stands for it. None means that the program takes no first prompt.
	Prompt []string `toml:"prompt"`
	// Identify are further arguments that give a new conversation the id that
	// stands for {conversation}, a UUID. None means that the program chooses it.
	Identify []string `toml:"identify"`
	// Resume starts the program on the conversation that stands for
	// {conversation}. Without {conversation} it takes the last one of the
	// directory. None means that the program cannot take one up again.
	Resume []string `toml:"resume"`
	// Like is the built-in profile whose status rules and hooks are this one's too, for
	// a wrapper around its program; "" means that of this profile's name.
	Like string `toml:"like"`
	// Submit is the key that submits a prompt, named as in tmux; "" is Enter.
	Submit string `toml:"submit"`
	// Env are patterns of names, in the form of path.Match: variables that pass
	// to the program besides those of the allow-list.
	Env []string `toml:"env"`
	// Spawn are the profiles that the program may start as workers; nil means that
	// it may start anything.
	Spawn []string `toml:"spawn"`
	// Approvals lets middleman answer what the program asks for permissions, by a
	// hook.
	Approvals bool `toml:"approvals"`
	// Sandbox is the level of a session without --sandbox: none, workspace or
	// strict; "" leaves it to the settings.
	Sandbox string `toml:"sandbox"`
	// Directories hold what the program keeps: in a sandbox it gets a copy of each
	// of its own. See Directory for their form.
	Directories []string `toml:"directories"`
	// Logins are files in Directories with nothing but a login, which the program
	// renews: "~/.codex/auth.json". See config.Sandbox.Logins.
	Logins []string `toml:"logins"`
	// Writable are directories that the program may change in a sandbox.
	Writable []string `toml:"writable"`
	// Network lists the hosts that the program can reach in a sandbox, in the form
	// of egress.Parse; nil leaves it to the settings.
	Network []string `toml:"network"`
	// Secrets lists variables whose values the program does not have in a sandbox, in
	// the form of egress.ParseSecrets.
	Secrets []string `toml:"secrets"`
	// Bundle makes this the profile of a bundle, written ID/PROFILE@DIGEST. Then it has
	// nothing else.
	Bundle string `toml:"bundle"`
	// Stop are the keys that a stop types before it signals, one after another, named as
	// in tmux.
	Stop []string `toml:"stop"`
	// Grace is how long a stop waits before it kills, such as 5s; "" leaves it to the
	// settings.
	Grace string `toml:"grace"`
}

// Profile is a Definition with its name.
type Profile struct {
	Name   string
	Source string // BuiltIn, User, Repository or Bundle
	// Program is the product's name.
	Program string
	// Versions says for which versions of the program a built-in profile was
	// written, "" for none.
	Versions string
	Definition
}

var validName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}$`)
})

var ofBundle = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,63}/[a-z0-9][a-z0-9._-]{0,63}@[0-9a-f]{64}$`)
})

// Check returns an error of one line for what cannot be meant.
func (d Definition) Check(name string) error {
	if !validName().MatchString(name) {
		return fmt.Errorf("profiles: %q is not a valid name: it must consist of lower-case letters, digits, dots, dashes and underscores", name)
	}
	if err := d.check(); err != nil {
		return fmt.Errorf("profiles.%s: %w", name, err)
	}
	if p := (Profile{Name: name, Definition: d}); d.Approvals && !p.canApprove() {
		return fmt.Errorf("profiles.%s: approvals: only claude and codex let a hook of one launch answer; set like to one of these for a wrapper", name)
	}
	return nil
}

// OfBundle returns what Bundle names, all "" if it is not set.
func (d Definition) OfBundle() (id, profile, digest string) {
	named, digest, _ := strings.Cut(d.Bundle, "@")
	id, profile, _ = strings.Cut(named, "/")
	return id, profile, digest
}

func (d Definition) check() error {
	if d.Bundle != "" {
		if !ofBundle().MatchString(d.Bundle) {
			return fmt.Errorf("bundle is %q: it must be ID/PROFILE@DIGEST, with a digest of 64 hexadecimal digits", d.Bundle)
		}
		if alone := (Definition{Bundle: d.Bundle}); !reflect.DeepEqual(d, alone) {
			return errors.New("bundle: the profile is that of the bundle, so it can have nothing else")
		}
		return nil
	}
	if len(d.Command) == 0 {
		return errors.New("command is missing")
	}
	for _, list := range []struct {
		name  string
		items []string
		holes []string
	}{
		{"command", d.Command, nil},
		{"prompt", d.Prompt, []string{promptHole}},
		{"identify", d.Identify, []string{conversationHole}},
		{"resume", d.Resume, []string{conversationHole}},
		{"env", d.Env, nil},
		{"spawn", d.Spawn, nil},
		{"directories", d.Directories, nil},
		{"logins", d.Logins, nil},
		{"writable", d.Writable, nil},
		{"stop", d.Stop, nil},
	} {
		if err := checkList(list.name, list.items, list.holes); err != nil {
			return err
		}
	}
	if len(d.Prompt) > 0 && !mentions(d.Prompt, promptHole) {
		return fmt.Errorf("prompt: no argument has %s in it", promptHole)
	}
	if len(d.Identify) > 0 && !mentions(d.Identify, conversationHole) {
		return fmt.Errorf("identify: no argument has %s in it", conversationHole)
	}
	for _, pattern := range d.Env {
		if !variablePattern().MatchString(pattern) {
			return fmt.Errorf("env: %q is not a valid name of a variable; * and ? may stand for parts of it", pattern)
		}
	}
	if d.Like != "" && !IsBuiltIn(d.Like) {
		return fmt.Errorf("like is %q: it must be a built-in profile", d.Like)
	}
	switch d.Sandbox {
	case "", "none", "workspace", "strict":
	default:
		return fmt.Errorf("sandbox is %q: it must be none, workspace or strict", d.Sandbox)
	}
	if err := d.checkDirectories(); err != nil {
		return err
	}
	if _, err := egress.Parse(d.Network); err != nil {
		return err
	}
	if _, err := egress.ParseSecrets(d.Secrets); err != nil {
		return err
	}
	if _, err := keys.Bytes(d.submitKey(), false); err != nil {
		return fmt.Errorf("submit: %w", err)
	}
	if _, err := d.stopKeys(); err != nil {
		return err
	}
	_, err := d.StopGrace()
	return err
}

// maxStopKeys bounds the keys of one stop: each may take 0.4 s.
const maxStopKeys = 10

// stopKeys returns what a terminal types for the stop keys.
func (d Definition) stopKeys() ([][]byte, error) {
	if len(d.Stop) > maxStopKeys {
		return nil, fmt.Errorf("stop: more than %d keys", maxStopKeys)
	}
	typed := make([][]byte, len(d.Stop))
	for i, name := range d.Stop {
		var err error
		if typed[i], err = keys.Bytes(name, false); err != nil {
			return nil, fmt.Errorf("stop: %w", err)
		}
	}
	return typed, nil
}

// StopKeys returns the keys by which the program ends in its own way, and the screens
// at which they are not typed: those of its dialogs, as far as there are rules for them.
func (p Profile) StopKeys() (k terminal.StopKeys, err error) {
	if k.Keys, err = p.stopKeys(); err != nil || len(k.Keys) == 0 {
		return terminal.StopKeys{}, err
	}
	for _, r := range rules[p.RulesOf()] {
		if r.asks() {
			k.Never = append(k.Never, r.sight())
		}
	}
	return k, nil
}

var variablePattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_*?][A-Za-z0-9_*?]*$`)
})

func checkList(name string, items, holes []string) error {
	if len(items) > maxItems {
		return fmt.Errorf("%s: more than %d items", name, maxItems)
	}
	for i, item := range items {
		if strings.TrimSpace(item) == "" || strings.ContainsRune(item, 0) {
			return fmt.Errorf("%s: %q is empty, or has a NUL in it", name, item)
		}
		for _, hole := range []string{promptHole, conversationHole} {
			if strings.Contains(item, hole) && (i == 0 && name == "resume" || !slices.Contains(holes, hole)) {
				return fmt.Errorf("%s: %q: %s has no meaning there", name, item, hole)
			}
		}
	}
	return nil
}

// StopGrace returns Grace as a duration, 0 if it is not set.
func (d Definition) StopGrace() (time.Duration, error) {
	if d.Grace == "" {
		return 0, nil
	}
	wait, err := time.ParseDuration(d.Grace)
	if err != nil || wait <= 0 {
		return 0, fmt.Errorf("grace is %q: it must be a duration above zero, such as 5s", d.Grace)
	}
	return wait, nil
}

func mentions(args []string, hole string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, hole) })
}

// fill returns args with a hole filled. What fills it stays part of one
// argument.
func fill(args []string, hole, with string) []string {
	out := make([]string, len(args))
	for i, arg := range args {
		out[i] = strings.ReplaceAll(arg, hole, with)
	}
	return out
}

// Identifies reports whether a new conversation gets the id that its caller
// chooses.
func (d Definition) Identifies() bool { return len(d.Identify) > 0 }

// Launch returns the command for a new conversation. conversation is its id if
// Identifies reports true, and is ignored otherwise. prompt is the first prompt,
// "" for none. hooks are the arguments of an Injection.
func (p Profile) Launch(conversation, prompt string, hooks []string) ([]string, error) {
	argv := slices.Concat(p.Command, hooks)
	if p.Identifies() {
		argv = append(argv, fill(p.Identify, conversationHole, conversation)...)
	}
	switch {
	case prompt == "":
		return argv, nil
	case len(p.Prompt) == 0:
		return nil, fmt.Errorf("profile %s takes no first prompt: type it once the program runs", p.Name)
	case len(prompt) > MaxPrompt:
		return nil, fmt.Errorf("the first prompt has %d bytes: at most %d are passed; type it once the program runs", len(prompt), MaxPrompt)
	case strings.ContainsRune(prompt, 0) || !utf8.ValidString(prompt):
		return nil, errors.New("the first prompt has a NUL in it, or is not UTF-8")
	case strings.HasPrefix(prompt, "-") && slices.Contains(p.Prompt, promptHole):
		// As an argument of its own the program would take it for an option.
		prompt = " " + prompt
	}
	return append(argv, fill(p.Prompt, promptHole, prompt)...), nil
}

// Again returns the command that takes a conversation up again. conversation may
// be "" if it is not known. hooks are the arguments of an Injection.
func (p Profile) Again(conversation string, hooks []string) ([]string, error) {
	switch {
	case len(p.Resume) == 0:
		return nil, fmt.Errorf("profile %s has no command to take a conversation up again", p.Name)
	case conversation == "" && mentions(p.Resume, conversationHole):
		return nil, fmt.Errorf("profile %s: the conversation's id is not known", p.Name)
	case conversation != "" && !validConversation().MatchString(conversation):
		return nil, fmt.Errorf("profile %s: %q is no id of a conversation", p.Name, conversation)
	}
	argv := fill(p.Resume, conversationHole, conversation)
	if n := len(p.Command); len(argv) >= n && slices.Equal(argv[:n], p.Command) {
		return slices.Concat(p.Command, hooks, argv[n:]), nil
	}
	return append(argv, hooks...), nil
}

// Conversations are named by the programs, by UUIDs and the like. None may look
// like an option or a path.
var validConversation = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]{0,199}$`)
})
