package agent

import "middleman/internal/keydoc"

// Keys describe the keys of a Definition, below profiles.NAME.
var Keys = []keydoc.Text{
	{Key: "profiles.NAME.command", About: `The program that -p NAME starts, and its arguments. A name is looked up in PATH; a relative path is refused. A profile of yours with the name of a built-in one needs none: what it does not set is that of the built-in one.`},
	{Key: "profiles.NAME.prompt", About: `More arguments if there is a first prompt, which stands for {prompt} in one of them. Without them the profile takes none.`},
	{Key: "profiles.NAME.identify", About: `More arguments of a new conversation: they give it the id that stands for {conversation}, a UUID.`},
	{Key: "profiles.NAME.resume", About: `The program and arguments that middleman resume starts. {conversation} stands for the conversation's id; it is known if identify is set.`},
	{Key: "profiles.NAME.like", About: `The built-in profile whose program this one starts by a wrapper: its screens and hooks mean the same (middleman status), and its hooks are passed to the wrapper. Without it, that of the same name.`},
	{Key: "profiles.NAME.submit", About: `The key that submits a prompt of send --prompt, named as for send --key; Enter if it is not set.`},
	{Key: "profiles.NAME.env", About: `Variables that the program gets besides the allow-list: patterns such as "ANTHROPIC_*".`},
	{Key: "profiles.NAME.spawn", About: `The profiles that the program may start as workers (middleman spawn); an empty list means none. Without the key it may start anything.`},
	{Key: "profiles.NAME.approvals", About: `Let middleman approve answer what the program asks for permissions, by a hook of this launch. Only claude, codex, and wrappers that are like them.`},
	{Key: "profiles.NAME.sandbox", Values: []string{"none", "workspace", "strict"}, About: `What the program may touch, without --sandbox. Without the key sandbox.level of the settings says it. That of a repository counts only where it is stronger than the settings.`},
	{Key: "profiles.NAME.directories", About: `Where the program keeps its settings, login and conversations: in a sandbox it has a copy of each, which is kept with the workspace. VARIABLE=DIRECTORY leads it there by that variable, such as "CODEX_HOME=~/.codex"; others need bubblewrap. A repository's do not count.`},
	{Key: "profiles.NAME.logins", About: `Files in these directories that hold a login and nothing else, such as "~/.codex/auth.json". If sandbox.logins names the profile, one that the program renews in a sandbox replaces yours. A repository's do not count.`},
	{Key: "profiles.NAME.bundle", About: `The profile of a bundle that this one is, as ID/PROFILE@DIGEST, such as one that "middleman bundle list" shows; then it has no other key. A repository's is refused.`},
	{Key: "profiles.NAME.writable", About: `Directories that the program may change in a sandbox, such as "~/notes". A repository's do not count.`},
	{Key: "profiles.NAME.network", About: `The hosts that the program can reach in a sandbox, as sandbox.network. A repository's do not count.`},
	{Key: "profiles.NAME.secrets", About: `Variables whose values the program does not have in a sandbox, as sandbox.secrets, which they go before. A repository's do not count.`},
	{Key: "profiles.NAME.stop", About: `The keys by which the program ends itself, named as for send --key, such as ["C-c", "C-c"]. A stop types them first and gives the program half of the grace. At a dialog that is known for one, or while another job has the terminal, nothing is typed.`},
	{Key: "profiles.NAME.grace", About: `How long a stop waits, after the stop keys and after SIGTERM, before it sends SIGKILL: a duration such as "5s".`},
}
