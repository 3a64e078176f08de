package admin

import (
	"io"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/cli"
)

func (c commands) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a shell's completion script",
		Long: `Print a shell's completion script. For bash, zsh and fish it also defines mm:
mm NAME changes to the directory of workspace NAME, mm alone to the repository of
the workspace that you stand in.

    source <(middleman completion bash)     # in ~/.bashrc
    source <(middleman completion zsh)      # in ~/.zshrc, after compinit
    middleman completion fish | source      # in ~/.config/fish/config.fish`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      cli.Args(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, given []string) error {
			generate, functions := cmd.Root().GenPowerShellCompletionWithDesc, ""
			switch given[0] {
			case "bash":
				generate = func(w io.Writer) error { return cmd.Root().GenBashCompletionV2(w, true) }
				functions = mmFunction + bashNames
			case "zsh":
				generate, functions = cmd.Root().GenZshCompletion, mmFunction+zshNames
			case "fish":
				generate = func(w io.Writer) error { return cmd.Root().GenFishCompletion(w, true) }
				functions = fishFunction
			}
			if err := generate(c.Out); err != nil {
				return err
			}
			_, err := io.WriteString(c.Out, functions)
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

// bashNames completes mm. NAME@REPOSITORY is one word, but not for bash, unless it
// is told so.
const bashNames = `
COMP_WORDBREAKS=${COMP_WORDBREAKS//@/}
_mm() {
    COMPREPLY=($(compgen -W "$(command middleman __complete path "" 2>/dev/null | sed '/^:/d')" -- "${COMP_WORDS[COMP_CWORD]}"))
}
complete -F _mm mm
`

const zshNames = `
_mm() {
    compadd -- ${(f)"$(command middleman __complete path "" 2>/dev/null | sed '/^:/d')"}
}
compdef _mm mm
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
complete -c mm -f -a '(command middleman __complete path "" 2>/dev/null | string match -v ":*")'
`
