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
	"strings"
	"syscall"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == helperMode {
		os.Exit(runHelper(os.Args[2:]))
	}
	binary := flag.String("middleman", "bin/middleman", "the `binary` to attack")
	area := flag.String("area", "", "run these `areas` alone, separated by commas")
	match := flag.String("run", "", "run the probes whose id matches `regexp` alone, with the controls of their areas")
	list := flag.Bool("list", false, "list the probes and what an attacker would gain; run nothing")
	asJSON := flag.Bool("json", false, "print the results as JSON")
	flag.Parse()
	chosen, err := choose(*area, *match)
	if err == nil && !*list {
		if *binary, err = filepath.Abs(*binary); err == nil {
			_, err = os.Stat(*binary)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "probes:", err)
		os.Exit(2)
	}
	if *list {
		printList(os.Stdout, chosen)
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	results, err := attack(ctx, *binary, chosen)
	if err != nil {
		fmt.Fprintln(os.Stderr, "probes:", err)
		os.Exit(2)
	}
	if *asJSON {
		printJSON(os.Stdout, results)
	} else {
		printReport(os.Stdout, results)
	}
	if count(results, failed) > 0 {
		os.Exit(1)
	}
}

// attack makes a world, runs the probes in it, and adds what the end of the
// world shows.
func attack(ctx context.Context, binary string, chosen []area) ([]result, error) {
	w, err := newWorld(ctx, binary)
	if err != nil {
		return nil, err
	}
	results := w.runAll(chosen)
	return append(results, w.end()...), nil
}

// area is a field of attack. Its probes run one after the other, those that
// mostly wait beside them.
type area struct {
	name, about string
	probes      []probe
}

// areas are in the order of the report.
func areas() []area {
	return []area{
		{"http", "operations over TCP without credentials that hold", httpProbes()},
		{"methods", "methods that no route has, and headers that change one", methodProbes()},
		{"paths", "other ways to write a path", pathProbes()},
		{"host", "names that were rebound to our address", hostProbes()},
		{"origin", "requests that begin at another site", originProbes()},
		{"smuggling", "requests that two readers understand differently", smuggleProbes()},
		{"limits", "many, slow and large requests", limitProbes()},
		{"shell", "what everybody may fetch, and the headers of all answers", shellProbes()},
		{"websocket", "the terminal over a WebSocket", websocketProbes()},
		{"login", "links, keys, signatures and tickets", loginProbes()},
		{"port", "another program at our port, and what it can leave in a browser", portProbes()},
		{"tokens", "scopes, lives and forms of tokens", tokenProbes()},
		{"peers", "sockets between users", peerProbes()},
		{"foreign", "directories of another user that the environment names", foreignProbes()},
		{"directories", "modes, owners and links of our own directories; ids that lead out of them", directoryProbes()},
		{"owner", "the protocol of the processes that own sessions", ownerProbes()},
		{"secrets", "what other users can read", secretProbes()},
		{"environment", "what sessions see of the server", environmentProbes()},
		{"repository", "what hostile repositories have git run or wait for", repositoryProbes()},
		{"outside", "what repositories name outside of themselves, and want to run", outsideProbes()},
		{"snapshot", "forged snapshots of deleted workspaces", snapshotProbes()},
		{"names", "names that are options, paths or commands", nameProbes()},
		{"escapes", "bytes of somebody else on the terminal of the operator", escapeProbes()},
		{"upgrade", "executables that an owner is asked to become", upgradeProbes()},
	}
}

// probe is one attack. run returns nil where it was fended off, a *skip where
// it cannot be tried, else the evidence that it got through.
type probe struct {
	id    string // AREA/NAME
	title string
	gain  string // what an attacker would gain
	run   func(w *world) error
	// control: run shows that the area's means work, so that a refusal is one.
	control bool
	// slow: it mostly waits.
	slow bool
}

// choose picks areas and probes by the flags.
func choose(names, match string) (chosen []area, err error) {
	which, err := regexp.Compile(match)
	if err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for name := range strings.SplitSeq(names, ",") {
		wanted[name] = name != ""
	}
	seen := map[string]bool{}
	for _, a := range areas() {
		matches := 0
		var kept []probe
		for _, p := range a.probes {
			p.id = a.name + "/" + p.id
			if seen[p.id] {
				return nil, fmt.Errorf("two probes have the id %s", p.id)
			}
			seen[p.id] = true
			if hit := which.MatchString(p.id); hit || p.control {
				kept = append(kept, p)
				if hit {
					matches++
				}
			}
		}
		a.probes = kept
		all := names == "" || wanted[a.name]
		delete(wanted, a.name)
		if all && matches > 0 {
			chosen = append(chosen, a)
		}
	}
	for name, is := range wanted {
		if is {
			return nil, fmt.Errorf("there is no area %q", name)
		}
	}
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no probe matches %q", match)
	}
	return chosen, nil
}
