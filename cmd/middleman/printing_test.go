package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// asItIs are the functions that reach standard output or error without the
// printer, see package plaintext, and why.
var asItIs = map[string]string{
	"main.go main":                                   "hands them to cli.New",
	"internal/cli/print.go printObject":              "the printer of JSON",
	"internal/cli/progress.go Progress":              "a line of progress that changes",
	"internal/cli/print.go FitTable":                 "asks for the terminal's width",
	"internal/cli/help.go setHelp":                   "help texts, which are ours, as wide as the terminal",
	"internal/cli/problem.go printError":             "the printer of JSON",
	"internal/early/early.go init":                   "prints the version, which is ours",
	"internal/admin/serve.go runServe":               "asks who reads what it prints",
	"internal/admin/completion.go completionCommand": "a script for a shell, byte for byte",
	"internal/admin/man.go showMan":                  "man has the terminal",
	"internal/workspaces/list.go tellHidden":         "asks whether it is a terminal",
	"internal/cli/cli.go To":                         "a CLI that prints elsewhere",
	"internal/cli/cli.go root":                       "asks whether it is a terminal",
	"internal/dashboard/run.go Run":                  "draws the dashboard: what it draws was made safe before",
	"internal/dashboard/command.go Run":              "attach has the terminal",
	"internal/sessions/export.go exportCommand":      "the printer of JSON: a recording is that",
	"internal/sessions/capture.go printShot":         "a capture in the form that draws on a terminal, and the printer of JSON",
	"internal/sessions/logs.go logs":                 "logs --raw; otherwise the printer goes before it",
	"internal/workspaces/diff.go diffPatch":          "a patch that a pipe takes byte for byte; on a terminal, colours around what the printer gives",
	"internal/workspaces/path.go path":               "a directory that a script needs byte for byte; on a terminal the printer",
	"internal/sessions/attach.go CheckTerminal":      "asks whether it is a terminal",
	"internal/sessions/attach.go attach":             "a session that is attached, or watched, has the terminal",
	"internal/sessions/clipboard.go offer":           "sets the terminal's clipboard, once its user agreed",
	"internal/launch/flags.go request":               "asks for the terminal's size",
	"internal/sessions/approve.go approveHook":       "an answer that an agent reads, byte for byte",
	"internal/remotes/remotes.go connectCommand":     "the other end of a hub's connection, byte for byte",
	"internal/launch/ephemeral.go foreground":        "the command has the terminal",
}

// All that is printed goes through the printer.
func TestPrintingGoesThroughThePrinter(t *testing.T) {
	used := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := filepath.ToSlash(path) + " " + f.Name.Name
			ast.Inspect(f, func(n ast.Node) bool {
				if what := bypass(n); what != "" {
					if used[name] = true; asItIs[name] == "" {
						t.Errorf("%s: %s uses %s: print to c.Out or c.Errs, or say here why not", files.Position(n.Pos()), f.Name.Name, what)
					}
				}
				return true
			})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range asItIs {
		if !used[name] {
			t.Errorf("%s does not do that any more", name)
		}
	}
}

// bypass names what n is if that reaches standard output or error by itself.
func bypass(n ast.Node) string {
	if call, ok := n.(*ast.CallExpr); ok {
		if f, ok := call.Fun.(*ast.Ident); ok && (f.Name == "print" || f.Name == "println") {
			return f.Name
		}
	}
	s, ok := n.(*ast.SelectorExpr)
	if !ok {
		return ""
	}
	x, _ := s.X.(*ast.Ident)
	switch {
	case s.Sel.Name == "BytesOut", s.Sel.Name == "BytesErrs":
		return s.Sel.Name
	case x == nil:
		return ""
	case x.Name == "os" && (s.Sel.Name == "Stdout" || s.Sel.Name == "Stderr"),
		x.Name == "fmt" && strings.HasPrefix(s.Sel.Name, "Print"),
		x.Name == "log" && (strings.HasPrefix(s.Sel.Name, "Print") || strings.HasPrefix(s.Sel.Name, "Fatal") || strings.HasPrefix(s.Sel.Name, "Panic")),
		x.Name == "cmd" && slices.Contains([]string{"Print", "Printf", "Println", "PrintErr", "PrintErrf", "PrintErrln"}, s.Sel.Name):
		return x.Name + "." + s.Sel.Name
	}
	return ""
}
