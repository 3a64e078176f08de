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
	var withoutMM bool
	cmd := &cobra.Command{
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
workspace NAME, mm alone to the repository of the workspace that you stand in. The .deb
and the .rpm complete without these lines, but mm needs them.`,
		ValidArgs:         []string{"bash", "zsh", "fish", "powershell"},
		Args:              cli.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // needs no directories and no settings
		RunE: func(cmd *cobra.Command, given []string) (err error) {
			scripts := map[string][2]string{
				"bash": {bashScript, mmFunction},
				"zsh":  {zshScript, mmFunction},
				"fish": {fishScript, fishFunction},
			}
			script, ours := scripts[given[0]]
			if !ours {
				return cmd.Root().GenPowerShellCompletionWithDesc(c.Out)
			}
			if withoutMM {
				script[1] = ""
			}
			_, err = c.BytesOut.WriteString(script[0] + script[1])
			return err
		},
	}
	cmd.Flags().BoolVar(&withoutMM, "without-mm", false, "complete only, as a file does that a shell reads at the first Tab")
	return cmd
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
