# Everything that is done to this repository by hand or by CI. `make help` lists it.
SHELL   := bash
REPO    ?= .
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
BINARY  := bin/middleman
PREFIX  ?= /usr/local
ROOT    := $(DESTDIR)$(PREFIX)
LDFLAGS := -s -w -X middleman/cmd/middleman/internal/stamp.Version=$(VERSION)
# Without cgo the binary is static, and builds and tests share one cache.
export CGO_ENABLED := 0
# Packages that live by their goroutines and do not link SQLite, whose race build
# takes minutes. The whole is `make race`.
LIGHT   := ./ptyowner/owner ./ptyowner/state ./ptyowner/wire ./internal/poll ./internal/cgroup ./internal/watch ./terminal/ws ./terminal/journal
# Tests of sessions that do most at once.
AT_ONCE_TESTS := 'TestContract|TestModel|TestStop|TestExitBytes|TestUpgrade|TestReplaced|TestKilled'
# Tests wait for programs more than they compute: more packages and scripts at
# once than there are processors leave none of these idle.
AT_ONCE := -p $(shell n=$$(getconf _NPROCESSORS_ONLN); echo $$((n > 3 ? n : 3)))
# What takes longest starts first: it would else run alone at the end. All others follow.
IN_TURN := ./cmd/middleman ./internal/server ./internal/web ./workspace ./ptyowner ./tmux ./internal/quarantine ./terminal/vt ./...
# go test, which also says what was skipped; in CI nothing may be that must not.
TEST    := bin/gotest
# make check vets everything, faults included.
VETTED  := -vet=off
# Packages with tests that kill, hold or starve a process at a named place.
FAULTS  := ./internal/fault ./internal/setup ./ptyowner ./terminal/journal ./workspace/... ./internal/quarantine ./internal/server
# The tests of sessions run a second time, with panes of tmux as their host.
ON_TMUX := MIDDLEMAN_TEST_HOST=tmux

.DEFAULT_GOAL := help
.PHONY: help build dist dist-test run run-test test test-root test-windows race long check systemd-test vm-test bench bench-go bench-peers bench-vt figures probes structure web docs install clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-12s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/middleman
	go build -ldflags '$(LDFLAGS)' -o $(BINARY) ./cmd/middleman

run: build ## start the server, open a workspace of REPO=path (default: this clone), print a login link
	@scripts/run.sh $(BINARY) '$(REPO)'

test: build ## install or name the tools that the tests need, run all tests
	@scripts/tools.sh
	@go build -o $(TEST) ./scripts/gotest
	$(TEST) $(AT_ONCE) $(VETTED) -parallel 4 -timeout 25m $(IN_TURN)
	$(TEST) $(AT_ONCE) $(VETTED) -tags faults -run Fault -timeout 5m $(FAULTS)
	$(ON_TMUX) $(TEST) $(VETTED) -short -timeout 12m ./ptyowner
	$(ON_TMUX) $(TEST) $(VETTED) -tags faults -run Fault -timeout 5m ./ptyowner

run-test: build ## make run twice with an empty home, and check that nothing is left
	@scripts/run-test.sh

test-root: build ## run the tests that an ordinary user skips
	@scripts/root-tests.sh

test-windows: ## run the tests of Windows under Wine (installs it on Debian as root; says if it cannot)
	@scripts/test-windows --install
	@scripts/test-windows

race: build ## all tests under the race detector; SHORT=-short for the packages that start goroutines, quickly
	@scripts/tools.sh
	CGO_ENABLED=1 scripts/race.sh go test $(AT_ONCE) $(VETTED) -race -timeout 20m $(SHORT) $(if $(SHORT),$(LIGHT),./...)
	$(if $(SHORT),CGO_ENABLED=1 scripts/race.sh go test $(VETTED) -race -timeout 20m -short -run 'TestContract|TestModel|TestExitBytes' ./ptyowner)
	$(ON_TMUX) CGO_ENABLED=1 scripts/race.sh go test $(VETTED) -race -timeout 20m -short -run $(if $(SHORT),'TestModel|TestExitBytes',$(AT_ONCE_TESTS)) ./ptyowner
	$(if $(SHORT),,CGO_ENABLED=1 scripts/race.sh go test $(AT_ONCE) $(VETTED) -race -tags faults -run Fault -timeout 10m $(FAULTS))

long: ## the long forms of tests: 1,000 sessions of 20 KB, 500 MB with viewers that come and go, 300 dirty worktrees deleted and restored, a repository of 60,000 files, five minutes of hostile input, 1,000 prompts while a dialog appears, 500 programs that print and end at once, 50 MB through a hub whose links break, a server killed under a browser ten times
	MIDDLEMAN_LONG=1 go test -v -count=1 -timeout 30m -run 'TestExitBytes|TestModel|TestLossless|TestKindsOfRepository|TestContract/killed_viewers' ./ptyowner ./workspace
	$(ON_TMUX) MIDDLEMAN_LONG=1 go test -v -count=1 -timeout 30m -run 'TestExitBytes|TestModel|TestContract/killed_viewers' ./ptyowner
	MIDDLEMAN_LONG=1 go test -v -count=1 -timeout 30m -run 'TestAnyInput|TestHostScripts/.*/(prompt|burst)|TestRuntimeTerminalSurvivesCuts' ./cmd/middleman
	MIDDLEMAN_LONG=1 go test -v -count=1 -timeout 30m -run 'TestInBrowser/e2e' ./internal/web

check: ## gofmt, vet, staticcheck, import directions, cross-builds
	@scripts/check.sh

systemd-test: build ## boot a real systemd in namespaces and end units while sessions run (root; says if it cannot)
	@scripts/systemd-test.sh $(BINARY)

vm-test: ## run the tests of the sandbox here, and on Linux 6.1 and 6.12 in virtual machines (says if it cannot)
	@scripts/tools.sh --vm
	@scripts/vm-test.sh

bench: build ## measure the budgets, and compare with tmux, dtach, screen and ttyd if installed; SHORT=1 in under 40 s
	go build -o bin/bench ./scripts/bench
	bin/bench -middleman $(BINARY) $(if $(SHORT),-short) $(BENCH)

bench-go: ## Go benchmarks of the screen, the wire, the way to the browser
	go test -run '^$$' -bench . -benchmem ./terminal/... ./ptyowner/...

bench-peers: ## install the programs that make bench compares with
	@scripts/tools.sh --bench

bench-vt: ## compare the screen with other Go libraries, in one run
	cd terminal/vt/bench && go test -run '^$$' -bench . -benchmem

figures: build ## measure the web client in Chromium beside a page that has xterm.js alone; SHORT=1 only shows that it works
	go build -o bin/bare ./scripts/web-e2e/bare
	cd scripts/web-e2e && npm ci --ignore-scripts --no-audit --no-fund
	MIDDLEMAN_BINARY='$(CURDIR)/$(BINARY)' BARE='$(CURDIR)/bin/bare' node scripts/web-e2e/figures.mjs $(if $(SHORT),--short) $(FIGURES)

probes: build ## attack bin/middleman from outside: a table by area, and the attacks that succeeded; PROBES='-area host,login' or -list
	go build -o bin/probes ./scripts/probes
	bin/probes -middleman $(BINARY) $(PROBES)

structure: ## measure the Go code: lines, files, functions, exported names, equal lines; STRUCTURE='-compare A B', -tests, '-rev COMMIT'
	@go run ./scripts/structure $(STRUCTURE)

dist: ## build a release in bin/dist: static binaries, archives, .deb, .rpm, parts lists, checksums; DIST='-targets linux/amd64'
	cd scripts/dist && go build -o ../../bin/make-dist .
	bin/make-dist $(DIST)

dist-test: ## compare two builds of a release; install, use, upgrade and remove its .deb in a clean root; SHORT=1 for the .deb alone
	@scripts/tools.sh --dist
	@scripts/dist-test.sh $(if $(SHORT),--short)

web: ## rebuild the committed web client
	go run ./internal/web/build

docs: ## rebuild the committed reference of commands and settings from the texts of the commands
	go run ./cmd/middleman man --markdown docs

install: build ## install binary, man pages and completions below PREFIX (default /usr/local), which DESTDIR is put before
	install -D -m 0755 $(BINARY) '$(ROOT)/bin/middleman'
	$(BINARY) man --dir '$(ROOT)/share/man'
	install -d '$(ROOT)/share/bash-completion/completions' '$(ROOT)/share/zsh/site-functions' '$(ROOT)/share/fish/vendor_completions.d'
	$(BINARY) completion bash >'$(ROOT)/share/bash-completion/completions/middleman'
	$(BINARY) completion zsh >'$(ROOT)/share/zsh/site-functions/_middleman'
	$(BINARY) completion fish >'$(ROOT)/share/fish/vendor_completions.d/middleman.fish'

clean: ## remove all build results
	rm -rf bin
	rm -rf scripts/*/node_modules internal/web/node_modules
