package repoconfig

import (
	"middleman/internal/agent"
	"middleman/internal/keydoc"
)

// Keys describes the keys of a configuration. NAME in a key stands for any name.
func Keys() []keydoc.Key { return keydoc.Of(Config{}, texts) }

// texts describe each key.
var texts = append([]keydoc.Text{
	{Key: "setup", About: `Commands for sh, which run one after the other in each new worktree, before its first session starts. If one fails, the creation has failed, and middleman retry goes on there.`},
	{Key: "teardown", About: `Commands for sh, which run before the workspace is deleted. If one fails, the workspace stays.`},
	{Key: "check", About: `Commands for sh, which run one after the other before middleman merge. If one fails, nothing is merged.`},
	{Key: "copy", About: `Files that git ignores and that a new worktree gets from the main checkout, such as ".env": patterns as in .gitignore. They are added to those of .worktreeinclude.`},
	{Key: "ports", About: `How many TCP ports of its own a workspace gets, 0 to 1000. Without it the user's settings say how many.`},
	{Key: "env.NAME", About: `The value of environment variable NAME for the commands above and for sessions. NAME must not begin with MIDDLEMAN_.`},
}, agent.Keys...)
