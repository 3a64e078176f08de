// Command structure measures how the Go code of this repository is built up, so
// that two revisions can be compared.
//
//	structure [-C DIR]                      the tree in DIR (default: here)
//	structure -rev COMMIT                   the tree of a commit, by git archive
//	structure -tests [-rev COMMIT]          the tests of each package instead
//	structure -compare A B                  two commits; "." is the tree in DIR
//
// The tables are:
//
//   - packages: files, lines and exported names of each, and the totals. Code is
//     the lines that are neither blank nor a comment;
//   - functions: how many, and the median, 90th percentile and maximum of their
//     lines, between the braces of the body;
//   - exported names by kind. A field or method counts where its type is
//     exported. A command has none, because nobody can import it;
//   - pairs of equal lines: six consecutive lines that are at two places, and
//     the files that have most of them. Blank lines, comments and imports are
//     left out, indentation is ignored, and at least three of the six lines
//     hold more than braces. A longer run is one pair.
//
// A package is of one of three kinds. Scripts are what is below scripts and
// tools. Tests are files that end in _test.go, and packages that import
// "testing". All else is the product. Functions, exported names and pairs are
// those of the product. Folders that the go command ignores are left out.
//
// -compare also lists the tests that only A has and those that only B has. A
// test is known by its name: one that moved to another package is neither.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

func main() {
	dir := flag.String("C", ".", "the repository")
	rev := flag.String("rev", "", "measure this commit instead of the tree at hand")
	tests := flag.Bool("tests", false, "list the tests of each package")
	compare := flag.Bool("compare", false, "compare two commits, A and B")
	flag.Parse()
	if err := run(os.Stdout, *dir, *rev, *tests, *compare, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "structure:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, dir, rev string, tests, compare bool, args []string) error {
	if compare {
		if len(args) != 2 || rev != "" {
			return fmt.Errorf("-compare takes two commits and no -rev")
		}
		a, err := measureCommit(dir, args[0])
		if err != nil {
			return err
		}
		b, err := measureCommit(dir, args[1])
		if err != nil {
			return err
		}
		return printComparison(w, args[0], args[1], a, b)
	}
	if len(args) != 0 {
		return fmt.Errorf("unknown argument %q", args[0])
	}
	if rev == "" {
		rev = "."
	}
	tree, err := measureCommit(dir, rev)
	if err != nil {
		return err
	}
	if tests {
		return printTests(w, tree)
	}
	return printTree(w, tree)
}

// measureCommit measures a commit of the repository in dir, or dir itself where
// commit is ".".
func measureCommit(dir, commit string) (*tree, error) {
	if commit == "." {
		return measure(os.DirFS(dir))
	}
	root, err := os.MkdirTemp("", "structure-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(root)
	if err := extract(dir, commit, root); err != nil {
		return nil, err
	}
	return measure(os.DirFS(filepath.Clean(root)))
}
