//go:build linux

package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"syscall"

	"middleman/terminal"
)

// bench is one run.
type bench struct {
	ctx    context.Context
	short  bool
	self   string // this program, whose modes are the programs that run
	binary string // middleman
	dir    string // everything that is made is in it
	size   terminal.Size
	rows   []row
	absent []string // peers that are not installed
	server *server
	hub    *server // drives server, see startHub; nil before
}

// budget is one measurement, which adds its rows.
type budget struct {
	name string
	run  func(*bench) error
}

var budgets = []budget{
	{"throughput", (*bench).throughput},
	{"echo", (*bench).echo},
	{"memory", (*bench).memory},
	{"start", (*bench).start},
	{"exit", (*bench).exit},
	{"worktree", (*bench).worktree},
	{"sandbox", (*bench).sandbox},
	{"cli", (*bench).cli},
	{"hub", (*bench).throughHub},
	{"list", (*bench).list}, // it leaves another server too
	{"screen", (*bench).screen},
	{"restart", (*bench).restart}, // last: it leaves another server
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == programMode {
		os.Exit(runProgram(os.Args[2:]))
	}
	short := flag.Bool("short", false, "less of everything: under 40 seconds")
	strict := flag.Bool("strict", false, "exit with 1 where a budget is not met")
	binary := flag.String("middleman", "bin/middleman", "the `binary` to measure")
	only := flag.String("only", "", "measure the budgets that match `regexp` alone")
	flag.Parse()
	which, err := regexp.Compile(*only)
	if err == nil {
		*binary, err = filepath.Abs(*binary)
	}
	if err == nil {
		_, err = os.Stat(*binary)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	missed, err := run(ctx, *short, *binary, which)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
	if *strict && missed {
		os.Exit(1)
	}
}

// run measures and prints. missed says that a budget is not met.
func run(ctx context.Context, short bool, binary string, which *regexp.Regexp) (missed bool, err error) {
	dir, err := os.MkdirTemp("/tmp", "mmb") // short, for the sockets in it
	if err != nil {
		return false, err
	}
	self, err := os.Executable()
	if err != nil {
		return false, err
	}
	b := &bench{ctx: ctx, short: short, self: self, binary: binary, dir: dir, size: terminal.DefaultSize}
	defer b.cleanUp()
	if b.server, err = b.startServer(filepath.Join(dir, "home")); err != nil {
		return false, err
	}
	printHead(os.Stdout, short)
	for _, budget := range budgets {
		if !which.MatchString(budget.name) {
			continue
		}
		before := len(b.rows)
		if err := budget.run(b); err != nil {
			b.rows = append(b.rows, row{what: budget.name, failure: err})
		}
		printRows(os.Stdout, b.rows[before:])
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
	}
	return printSummary(os.Stdout, b.rows, b.absent), nil
}

// pick is the full or the short form's number.
func (b *bench) pick(full, short int) int {
	if b.short {
		return short
	}
	return full
}

func (b *bench) cleanUp() {
	for _, s := range []*server{b.hub, b.server} {
		s.stop()
		if err := s.letGo(); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
		}
	}
	endLeft(b.dir)
	if err := os.RemoveAll(b.dir); err != nil {
		fmt.Fprintln(os.Stderr, "bench: left behind:", err)
	}
}
