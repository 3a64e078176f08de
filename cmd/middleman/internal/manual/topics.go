package manual

import (
	"strings"

	"github.com/spf13/cobra"
)

// Topics returns the help topics: what several commands have in common. They cannot
// be run.
func Topics() []*cobra.Command {
	return []*cobra.Command{
		{Use: "targets", Short: "What a TARGET means", Long: targets},
		{Use: "exit-codes", Short: "Exit codes", Long: exitCodes},
		{Use: "environment", Short: "Environment variables", Long: environment},
		{Use: "dashboard", Short: "The dashboard, which middleman shows without a command", Long: dashboard + strings.ReplaceAll("\n\n"+DashboardKeys, "\n", "\n    ")},
		{Use: "files", Short: "Files", Long: files},
	}
}

const targets = `A TARGET is one of these:

    WORKSPACE            its running session, or the only one that has ended
    WORKSPACE/SESSION    as ` + "`middleman ls --sessions`" + ` lists them
    ID                   of a session, as ` + "`middleman ls --sessions --json`" + ` prints it

If workspaces of several repositories have a name, WORKSPACE is NAME@REPOSITORY, as
` + "`middleman ls`" + ` lists it: fix@api, or fix@work/api if several repositories are called
api. The name alone is refused then.

The beginning of a name is enough if no other name begins so, except for commands
that destroy something: ` + "`stop` and `rm`" + `.

If a workspace has several sessions, ` + "`attach`" + ` takes the one that was used last. The other
commands ask for SESSION too, and name those that there are.`

const exitCodes = `What ` + "`attach`, `run` and `wait --exit`" + ` return is the exit code of the session's program,
which is 128 and N for one that signal N has killed. Otherwise:

    0      success
    1      error; for search: nothing was found
    2      the command line is wrong
    3      send has typed nothing, because the screen is another one
    124    timed out
    130    interrupted
    131    ended by SIGQUIT, as by ctrl-\
    254    disconnected from the session, which goes on; or it has ended, and nobody
           knows how
    255    could not attach`

const environment = `middleman uses these variables:

    MIDDLEMAN_HOME     data, configuration and runtime files are below this directory
` + systemVariables + `
    NO_COLOR           no colours
    SSH_AUTH_SOCK      the agent that sessions use after ` + "`attach`" + `

Programs in sessions find these:

    MIDDLEMAN_SESSION              the id of their session
    MIDDLEMAN_TOKEN                proves to the server that a process is one of that session
    MIDDLEMAN_SANDBOX              the level of their sandbox, if they are in one
    MIDDLEMAN_WORKSPACE            the id of their workspace
    MIDDLEMAN_WORKSPACE_PATH       its directory
    MIDDLEMAN_WORKSPACE_NAME       its name
    MIDDLEMAN_WORKSPACE_BRANCH     its branch
    MIDDLEMAN_WORKSPACE_BASE       what the branch began at, such as main
    MIDDLEMAN_WORKSPACE_PORT       the first of its ports
    MIDDLEMAN_WORKSPACE_PORTS      how many it has
    TERM, COLORTERM                xterm-256color, truecolor`

const files = `` + "`middleman doctor`" + ` names the directories in use.

    config.toml          settings, in the configuration directory
    tmux.conf            beside it: more settings for the private tmux server
    .middleman.toml      in a repository: what it wants for its workspaces
    .worktreeinclude     in a repository: ignored files that a new worktree gets`

const dashboard = `Without a command ` + "`middleman`" + ` shows the dashboard, if standard input and output are a
terminal: all sessions, and the present screen of the selected one.

A reply is typed only if the session still shows the screen that you saw when you
pressed Space, clocks and spinners aside; otherwise the dashboard says that it has
moved on, and types nothing. Enter sends it, Tab sends it without Enter.

What an agent asks to be allowed is shown instead of its screen. ` + "`a`" + ` opens it; it can
be allowed once all of it was shown. The first answer counts, wherever it is given.

The list follows the events of the server. Without a server it is read from the disk
every 10 seconds until one runs; replies, attaching, stopping and searching work then
too, and the keys that need a server start one. While you are attached the dashboard
asks nobody.

These are its keys and groups:`

// DashboardKeys describes the keys and the groups of the dashboard. It fits 50
// columns.
const DashboardKeys = `Up Down k j  select; also PgUp PgDn Home End
!            the next one that needs you
Enter        attach; ctrl-\ comes back here,
             ctrl-] ! goes to the next of those;
             of an ended session: what it printed
Space        see its screen, reply in one line
a            what its agent asks to be allowed;
             y allows it once, n denies it
/            show only what has these words;
             Enter also searches what was printed,
             Esc shows all again
n            new workspace, with a prompt
d            show what it has changed
m            merge it into its base
x            stop the session
D            delete the workspace
u            restore a deleted workspace
S            start the server, if none runs
r            read the list again
ctrl-z       suspend
q  ctrl-c    quit; everything goes on

Needs you    an agent that waits for you;
             one that was interrupted, as by a
             reboot, until it is resumed;
             a bell that nobody has heard;
             a session that does not answer
Unknown      an agent of which nothing proves
             what it does: it may wait for you
Ready        an agent that is idle;
             a shell that runs nothing
Working      other programs that run
Ended        ended sessions, workspaces without`
