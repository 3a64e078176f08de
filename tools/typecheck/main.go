// Command typecheck checks the types of packages and of their tests, for the
// system and the processor that GOOS and GOARCH name. It compiles nothing: what
// the packages import is read as source, without the bodies of its functions.
// For SQLite that takes a second, where go vet compiles it for half a minute.
package main

import (
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	found, err := packages.Load(&packages.Config{
		Mode: packages.NeedName | packages.NeedFiles | packages.NeedCompiledGoFiles | packages.NeedImports | packages.NeedDeps |
			packages.NeedTypes | packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
		Tests: true,
	}, os.Args[1:]...)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("no packages match %q", os.Args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(1)
	}
	if packages.PrintErrors(found) > 0 {
		os.Exit(1)
	}
}
