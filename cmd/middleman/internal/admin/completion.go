package admin

import (
	_ "embed" // the scripts

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

// The scripts are our own, because those of cobra evaluate what was typed, and the one
// for bash needs the package bash-completion. Each asks `middleman __complete`, cobra's
// hidden command.
var (
	//go:embed completions/middleman.bash
	bashScript string
	//go:embed completions/middleman.zsh
	zshScript string
	//go:embed completions/middleman.fish
	fishScript string
)

func (c commands) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell's completion script",
		Long: `Print a shell's completion script. It completes commands, workspaces and sessions,
branches, and the values of flags, and needs no other package. To install it:

    source <(middleman completion bash)     # in ~/.bashrc
    source <(middleman completion zsh)      # in ~/.zshrc, after compinit
    middleman completion fish | source      # in ~/.config/fish/config.fish

In the bash of macOS, which is version 3.2:

    eval "$(middleman completion bash)"     # in ~/.bash_profile

In PowerShell, in the file that $PROFILE names:

    middleman completion powershell | Out-String | Invoke-Expression

For bash, zsh and fish it also defines mm: mm NAME changes to the directory of
workspace NAME, mm alone to the repository of the workspace that you stand in.`,
		ValidArgs:         []string{"bash", "zsh", "fish", "powershell"},
		Args:              cli.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // needs no directories and no settings
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			switch given[0] {
			case "bash":
				_, err = c.BytesOut.WriteString(bashScript + mmFunction)
			case "zsh":
				_, err = c.BytesOut.WriteString(zshScript + mmFunction)
			case "fish":
				_, err = c.BytesOut.WriteString(fishScript + fishFunction)
			default:
				err = cmd.Root().GenPowerShellCompletionWithDesc(c.Out)
			}
			return err
		},
	}
}

// mmFunction is mm for bash and zsh.
const mmFunction = `
# mm NAME changes to the directory of a workspace, mm alone to the repository of
# the workspace that one stands in.
mm() {
    local dir
    if [ $# -eq 0 ]; then
        dir=$(command middleman path --repository) || return
    else
        dir=$(command middleman path -- "$@") || return
    fi
    cd -- "$dir"
}
`

const fishFunction = `
# mm NAME changes to the directory of a workspace, mm alone to the repository of
# the workspace that one stands in.
function mm --description 'Change to the directory of a workspace'
    if test (count $argv) -eq 0
        set -l dir (command middleman path --repository); or return
        cd $dir
    else
        set -l dir (command middleman path -- $argv); or return
        cd $dir
    end
end
`
