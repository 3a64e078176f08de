package remotes

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	goruntime "runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
	"middleman/cmd/middleman/internal/viewer"
	"middleman/internal/api"
	"middleman/internal/client"
	"middleman/internal/plaintext"
	"middleman/internal/runtime"
)

// placeThere is where programs are put, below the home directory there.
const placeThere = ".local/share/middleman/bin"

// maxSaid bounds what is read of a command there.
const maxSaid = 4 << 10

// unsafe are the characters of a version that no name of a directory gets.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// systems has what uname says of the systems that this program is built for.
var systems = map[string]string{
	"Linux x86_64": "linux/amd64", "Linux aarch64": "linux/arm64", "Darwin x86_64": "darwin/amd64", "Darwin arm64": "darwin/arm64",
}

// installed is what install has done.
type installed struct {
	Runtime api.Runtime `json:"runtime"`
	Digest  string      `json:"digest"`
	Path    string      `json:"path"`
}

func (c commands) installCommand() *cobra.Command {
	var binary string
	var yes bool
	cmd := &cobra.Command{
		Use:   "install NAME [--binary FILE] [--yes]",
		Short: "Put this program on the machine of a runtime, by ssh, and use it there",
		Long: `Put this program on the machine of a runtime, by ssh, and use it there from now on.

It goes to ` + placeThere + `/VERSION-DIGEST/middleman in your home directory there,
beside those that are there already. The digest is compared there before the program is
used. Then the server there is restarted as this program; sessions go on. You are asked
first, unless --yes is given. For a machine of another kind, --binary names a middleman
that is built for it.

A server that a systemd unit runs there goes on with the program that the unit names.
You are told how to replace it.`,
		Args: cli.Args(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, given []string) error {
			return c.WithServer(cmd.Context(), func(ctx context.Context, server *client.Client) error {
				return c.install(ctx, server, given[0], binary, yes)
			})
		},
	}
	cmd.Flags().StringVar(&binary, "binary", "", "put `FILE` there instead of this program")
	cmd.Flags().BoolVar(&yes, "yes", false, "do not ask")
	return cmd
}

// install puts a program on the machine of a runtime, and makes the runtime use it.
func (c commands) install(ctx context.Context, server *client.Client, name, binary string, yes bool) error {
	config, err := configOf(ctx, server, name)
	if err != nil {
		return err
	}
	if binary == "" {
		if err := checkSystem(ctx, config); err != nil {
			return err
		}
		if binary, err = os.Executable(); err != nil {
			return fmt.Errorf("find our own executable: %w", err)
		}
	}
	file, err := os.Open(binary)
	if err != nil {
		return err
	}
	defer file.Close()
	sum := sha256.New()
	size, err := io.Copy(sum, file)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", binary, err)
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	dir := path.Join(placeThere, unsafe.ReplaceAllString(build.Version(), "_")+"-"+digest[:16])
	if !yes {
		fmt.Fprintf(c.Errs, "This puts %s (%d MB, SHA-256 %s)\non the machine of %s, as %s/middleman in your home directory there, and restarts the server\nthere with it; sessions go on.\n", plaintext.Line(binary), size>>20, digest, name, dir)
		if !viewer.IsTerminal(c.In) {
			return errors.New("there is no terminal to ask at: --yes agrees")
		}
		if !c.Confirm("Go on? [y/N] ") {
			return errors.New("nothing was put there")
		}
	}
	said, err := there(ctx, config, script(dir, digest), file)
	if err != nil {
		return fmt.Errorf("put %s on the machine of %s: %w", binary, name, err)
	}
	if !path.IsAbs(said) {
		return fmt.Errorf("the machine of %s says %q where the path of the program should be", name, said)
	}
	notReplaced := restart(ctx, config, said)
	r, err := use(ctx, server, config, said)
	if err != nil {
		return errors.Join(err, notReplaced)
	}
	return errors.Join(c.show(r), c.tellInstalled(installed{r, digest, said}), notReplaced)
}

// restart makes the server there go on as a program, and starts one if none runs.
func restart(ctx context.Context, config runtime.Config, program string) error {
	quoted := runtime.Quote(program)
	if _, err := there(ctx, config, quoted+" server restart --program "+quoted, nil); err != nil {
		return fmt.Errorf("the program is there, but the server of %s is not restarted as it: %w", config.Name, err)
	}
	return nil
}

func (c commands) tellInstalled(done installed) error {
	if c.JSON {
		return nil // show has printed the runtime
	}
	fmt.Fprintf(c.Errs, "%s runs %s there\n", done.Runtime.Name, plaintext.Line(done.Path))
	return nil
}

// configOf returns how a runtime is reached by ssh.
func configOf(ctx context.Context, server *client.Client, name string) (runtime.Config, error) {
	list, err := server.Runtimes(ctx)
	if err != nil {
		return runtime.Config{}, err
	}
	at := slices.IndexFunc(list, func(r api.Runtime) bool { return r.Name == name })
	if at < 0 {
		return runtime.Config{}, fmt.Errorf("there is no runtime %q; `middleman runtime list` lists them", name)
	}
	config := runtime.Config{Name: name, Address: list[at].Address}
	if list[at].Kind != "ssh" {
		return config, fmt.Errorf("runtime %s is reached by https, and a program is put there by ssh alone", name)
	}
	return config, config.Check()
}

// checkSystem returns an error if this program cannot run there.
func checkSystem(ctx context.Context, config runtime.Config) error {
	said, err := there(ctx, config, "uname -sm", nil)
	if err != nil {
		return fmt.Errorf("ask %s for its system: %w", config.Name, err)
	}
	if ours := goruntime.GOOS + "/" + goruntime.GOARCH; systems[said] != ours {
		return fmt.Errorf("the machine of %s is %q, and this program is built for %s: name one that is built for it with --binary", config.Name, said, ours)
	}
	return nil
}

// script puts what it reads into dir if it has the digest, and prints its path. dir has
// no character that a shell knows.
func script(dir, digest string) string {
	return `set -eu
umask 077
dir="$HOME/` + dir + `"
mkdir -p "$dir"
part="$dir/.part.$$"
mkdir "$part"
trap 'rm -rf "$part"' EXIT
cat >"$part/middleman"
if command -v sha256sum >/dev/null; then sum=$(sha256sum <"$part/middleman"); else sum=$(shasum -a 256 <"$part/middleman"); fi
[ "${sum%% *}" = ` + digest + ` ] || { echo "what came has another digest" >&2; exit 3; }
chmod 700 "$part/middleman"
"$part/middleman" version >&2
mv -f "$part/middleman" "$dir/middleman"
printf '%s\n' "$dir/middleman"`
}

// there runs a command line of the shell on the machine of a runtime, and returns the
// last line that it prints.
func there(ctx context.Context, config runtime.Config, line string, in io.Reader) (string, error) {
	args, err := runtime.SSHArgs(config, "sh -c "+runtime.Quote(line))
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "ssh", args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, &limited{to: &out}, &limited{to: &said}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("ssh: %w: %s", err, plaintext.Line(strings.TrimSpace(said.String())))
	}
	text := strings.TrimSpace(out.String())
	return text[strings.LastIndexByte(text, '\n')+1:], nil
}

// limited keeps the first maxSaid bytes.
type limited struct{ to *bytes.Buffer }

func (l *limited) Write(p []byte) (int, error) {
	l.to.Write(p[:min(len(p), maxSaid-l.to.Len())])
	return len(p), nil
}

// use makes a runtime use the program with that path.
func use(ctx context.Context, server *client.Client, config runtime.Config, program string) (r api.Runtime, err error) {
	config.Command = program
	if err := config.Check(); err != nil {
		return r, err
	}
	if err := server.RemoveRuntime(ctx, config.Name); err != nil {
		return r, err
	}
	return server.AddRuntime(ctx, api.NewRuntime{Name: config.Name, Address: config.Address, Command: program})
}
