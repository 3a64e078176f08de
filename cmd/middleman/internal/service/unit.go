package service

import (
	"fmt"
	"strings"
)

// unitName is the name of the systemd unit.
const unitName = "middleman.service"

// unitText is the format of the unit. KillMode=process: stopping the unit ends
// the server only, even if a session has no scope of its own.
const unitText = `# ` + marker + `, which may overwrite it; put
# your changes into ` + "`systemctl --user edit middleman`" + `.
[Unit]
Description=middleman, workspaces with terminals that outlive it

[Service]
Type=notify
ExecStart=%s
%sKillMode=process
OOMPolicy=continue
Restart=on-failure
RestartSec=1

[Install]
WantedBy=default.target
`

// systemdUnit returns the text of the systemd unit.
func systemdUnit(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	command := unitQuote(o.Executable) // systemd does not expand the program's path, so its $ stays single
	for _, arg := range o.Args {
		command += " " + strings.ReplaceAll(unitQuote(arg), "$", "$$")
	}
	var env strings.Builder
	for _, kv := range o.Env {
		env.WriteString("Environment=" + unitQuote(kv) + "\n")
	}
	return fmt.Appendf(nil, unitText, command, env.String()), nil
}

// unitQuote quotes s as one word (systemd.syntax(7)), without specifiers.
func unitQuote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "%", "%%").Replace(s) + `"`
}
