package cli

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// namedValue is a flag's value whose type, as help and manual print it, is the name of
// what the flag takes.
type namedValue struct {
	pflag.Value
	name string
}

func (v namedValue) Type() string { return v.name }

// kindOf returns the type of a flag's value, also after NameArguments.
func kindOf(f *pflag.Flag) string {
	if v, ok := f.Value.(namedValue); ok {
		return v.Value.Type()
	}
	return f.Value.Type()
}

// argumentNames are names for what a flag takes where the flag's own name does not say it.
var argumentNames = map[string]string{
	"base": "REF", "expires": "DURATION", "key": "KEY", "listen": "ADDRESS", "session": "TARGET",
	"snapshots": "AGE", "tls": "KIND", "wait-text": "TEXT",
}

// NameArguments makes help and manual of a command, and of those below it, say what its
// flags take (N, DURATION, NAME) instead of how the value is stored (uint16, string).
// Flags whose description has a name in backquotes keep that.
func NameArguments(cmd *cobra.Command) {
	name := func(f *pflag.Flag) {
		_, named := f.Value.(namedValue)
		kind := kindOf(f)
		switch own, _ := pflag.UnquoteUsage(f); {
		case named || strings.Contains(f.Usage, "`"+own+"`"):
			return
		case kind == "int", kind == "int64", kind == "uint16", kind == "uint64":
			f.Value = namedValue{f.Value, "N"}
		case kind == "duration":
			f.Value = namedValue{f.Value, "DURATION"}
		case kind == "string", kind == "stringArray", kind == "stringSlice":
			known, ok := argumentNames[f.Name]
			if !ok {
				known = strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
			}
			f.Value = namedValue{f.Value, known}
		default:
			return
		}
		if f.DefValue == "0s" || f.DefValue == "[]" {
			f.DefValue = "" // the parser no longer knows these for none, and would print them
		}
	}
	cmd.Flags().VisitAll(name)
	cmd.PersistentFlags().VisitAll(name)
	for _, sub := range cmd.Commands() {
		NameArguments(sub)
	}
}
