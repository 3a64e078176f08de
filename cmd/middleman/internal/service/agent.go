package service

import (
	"encoding/xml"
	"strings"
)

// label is the label of the launchd agent.
const label = "dev.middleman.server"

const (
	agentHead = `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- ` + marker + `, which may overwrite it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>` + label + `</string>
`
	// AbandonProcessGroup: stopping the agent must not end the sessions.
	agentTail = `	<key>RunAtLoad</key>
	<true/>
	<key>KeepAlive</key>
	<dict>
		<key>SuccessfulExit</key>
		<false/>
	</dict>
	<key>AbandonProcessGroup</key>
	<true/>
	<key>ProcessType</key>
	<string>Interactive</string>
</dict>
</plist>
`
)

// launchdAgent returns the text of the launchd agent.
func launchdAgent(o Options) ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	var b strings.Builder
	b.WriteString(agentHead)
	b.WriteString("\t<key>ProgramArguments</key>\n\t<array>\n")
	for _, arg := range append([]string{o.Executable}, o.Args...) {
		b.WriteString("\t\t" + element("string", arg))
	}
	b.WriteString("\t</array>\n")
	if len(o.Env) > 0 {
		b.WriteString("\t<key>EnvironmentVariables</key>\n\t<dict>\n")
		for _, kv := range o.Env {
			name, value, _ := strings.Cut(kv, "=")
			b.WriteString("\t\t" + element("key", name) + "\t\t" + element("string", value))
		}
		b.WriteString("\t</dict>\n")
	}
	for _, key := range []string{"StandardOutPath", "StandardErrorPath"} {
		b.WriteString("\t" + element("key", key) + "\t" + element("string", o.Log))
	}
	b.WriteString(agentTail)
	return []byte(b.String()), nil
}

func element(name, text string) string {
	var b strings.Builder
	b.WriteString("<" + name + ">")
	xml.EscapeText(&b, []byte(text)) // a strings.Builder takes everything
	b.WriteString("</" + name + ">\n")
	return b.String()
}
