package admin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"middleman/cmd/middleman/internal/build"
	"middleman/cmd/middleman/internal/cli"
	"middleman/internal/api"
	"middleman/internal/app"
	"middleman/internal/audit"
	"middleman/internal/client"
	"middleman/internal/config"
	"middleman/internal/environ"
	"middleman/internal/listen"
	"middleman/internal/private"
	"middleman/internal/sandbox"
	"middleman/internal/server"
	"middleman/internal/store"
	"middleman/internal/systemd"
	"middleman/internal/watch"
	"middleman/internal/web"
	"middleman/terminal"
)

const serveHelp = `Run the server; sessions go on when it ends.

With --runtime it serves the hubs of other machines (middleman runtime) and the commands
of this one: it has no pages for browsers, nobody logs in, and it has no runtimes of its
own. It needs TLS, and prints how a hub adds it.

It prints a login link only where this user alone reads it: on a terminal or in a file of
this user's alone. On a pipe, which may end in a log, and in a session, whose output is
watched and kept, it prints none. There "middleman open" makes a link, or --print-link
prints one wherever the output goes.`

func (c commands) serveCommand() *cobra.Command {
	var o serveOptions
	cmd := &cobra.Command{
		Use:   "serve [--listen ADDR] [--tls local | --tls-cert FILE --tls-key FILE] [--runtime]",
		Short: "Run the server; sessions go on when it ends",
		Long:  serveHelp,
		Args:  cli.Args(cobra.NoArgs),
		RunE:  func(cmd *cobra.Command, _ []string) error { return c.runServe(cmd, o) },
	}
	flags := cmd.Flags()
	flags.StringVar(&o.listen, "listen", "", `address for browsers (default "127.0.0.1:8091"); port 0 picks one`)
	flags.StringVar(&o.tlsMode, "tls", "", `"local": encrypt, with a certificate of a local authority that your browser must trust`)
	flags.StringVar(&o.tls.Cert, "tls-cert", "", "encrypt, with the certificate chain in the PEM `FILE`")
	flags.StringVar(&o.tls.Key, "tls-key", "", "the certificate's private key, in the PEM `FILE`")
	flags.BoolVar(&o.runtime, "runtime", false, "serve hubs and the commands of this machine alone; needs TLS")
	flags.BoolVar(&o.printLink, "print-link", false, "print a login link, wherever the output goes; =false prints none (default: only where this user alone reads it)")
	flags.BoolVar(&o.background, "background", false, "start a server in the background and return when it answers")
	flags.BoolVar(&o.ready, "report-ready", false, "the server in the background: report readiness on file descriptor 3")
	flags.BoolVar(&o.again, "again", false, "the server was started again by itself, in the same process")
	for _, name := range []string{"background", "report-ready", "again"} {
		if err := flags.MarkHidden(name); err != nil {
			panic(err) // the flag is defined above
		}
	}
	return cmd
}

// runServe runs the server according to its flags, or starts one in the background.
func (c commands) runServe(cmd *cobra.Command, o serveOptions) error {
	if o.background {
		checked := o // report errors here: a server in the background has no terminal to report to
		if err := checked.encryption(c.Config.TLS); err != nil {
			return err
		}
		return c.launch(cmd.Context(), given(cmd.Flags()))
	}
	if !cmd.Flags().Changed("listen") {
		o.listen = c.Config.Listen
	}
	o.flagged = o.tlsMode != "" || o.tls.Enabled()
	if !cmd.Flags().Changed("print-link") {
		o.printLink = privateOutput(c.BytesOut)
	}
	args := os.Args
	if !o.printLink { // the reduced environment does not say why
		args = append(slices.Clone(args), "--print-link=false")
	}
	if err := errors.Join(o.encryption(c.nextTLS(o.ready)), scrub(args), private.Harden()); err != nil {
		return err
	}
	o.fixed = cmd.Flags().Changed("listen")
	err := c.serve(cmd.Context(), o)
	if again, ok := errors.AsType[*restartError](err); ok {
		return again.run(c.Errs)
	}
	return err
}

type serveOptions struct {
	listen     string
	tlsMode    string
	tls        config.TLS
	runtime    bool // for hubs alone
	printLink  bool // print a login link to standard output
	background bool
	ready      bool // in the background
	again      bool // this process has been a server before
	flagged    bool // TLS was asked for by flags
	fixed      bool // --listen was given
}

// given returns the flags that were given, without --background.
func given(flags *pflag.FlagSet) (args []string) {
	flags.Visit(func(f *pflag.Flag) {
		if f.Name != "background" {
			args = append(args, "--"+f.Name+"="+f.Value.String())
		}
	})
	return args
}

// launch starts a server in the background and returns when it is ready.
func (c commands) launch(ctx context.Context, flags []string) error {
	exe, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	serve := exec.Command(exe, append([]string{"serve", "--report-ready"}, flags...)...)
	serve.Env = app.Environment(os.Environ())
	return client.Launch(ctx, c.Dirs, serve)
}

// serve runs the server until ctx ends. listen.Open takes a lock before the
// database is opened, so that only one process ever writes to it.
func (c commands) serve(ctx context.Context, o serveOptions) (err error) {
	holder, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find our own executable: %w", err)
	}
	again := restartOf(o) // while the executable is still there
	if o.again {
		adopt()
	}
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	where := c.listenOptions(o)
	where.Executable = holder
	listeners, err := listen.Open(where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, listeners.Close()) }()
	encrypted, err := c.certificate(o)
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, c.Dirs.Database())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	options := c.serverOptions(db, listeners, o)
	options.Executable, options.TLS, options.End = holder, encrypted, again.ender(end, func() error { return c.canStart(o, listeners.TCP[0].Addr().String()) })
	s, err := server.New(options)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.Serve(ctx, listeners.Unix, listeners.TCP...) })
	g.Go(func() error {
		select {
		case <-s.Ready():
			return errors.Join(c.announce(ctx, o), c.notify(o))
		case <-ctx.Done():
			return nil
		}
	})
	if err := g.Wait(); err != nil {
		return err
	}
	if asked, ok := errors.AsType[*restartError](context.Cause(ctx)); ok {
		asked.listenAt(o, listeners.TCP[0].Addr().String())
		return asked
	}
	return nil
}

// listenOptions returns where and how a server with these options listens, without the
// holder of its port.
func (c commands) listenOptions(o serveOptions) listen.Options {
	return listen.Options{
		Dirs:     c.Dirs,
		Address:  o.listen,
		AnyPort:  o.ready && !o.fixed, // in the background no user is there to choose a port
		TLS:      o.tls.Enabled(),
		Settings: o.tls,
		Version:  build.Version(),
		OwnTCP:   sandbox.WithoutSockets(),
	}
}

// serverOptions returns the options of the server, without TLS and End.
func (c commands) serverOptions(db *store.Store, l *listen.Listeners, o serveOptions) server.Options {
	log := ""
	if o.ready {
		log = c.Dirs.ServerLog() // client.Launch sends our output there
	}
	return server.Options{
		Options:     c.appOptions(db),
		LogFile:     log,
		Audit:       audit.New(c.Dirs.Data, func(err error) { slog.Error("the audit log", "error", err) }),
		Web:         webClient(o),
		HubsAlone:   o.runtime,
		Version:     build.Version(),
		Instance:    l.Instance,
		Port:        l.Port,
		Own:         l.Own,
		OwnTCP:      l.OwnTCP,
		Hosts:       c.hosts(o),
		AllowRemote: o.remote(),
		Waiting:     func() ([]string, error) { return c.waiting(o) },
		PushPrivate: c.Config.Notify.PushPrivate,
	}
}

// webClient returns the pages, nil for a server without pages.
func webClient(o serveOptions) http.Handler {
	if o.runtime {
		return nil
	}
	return web.Handler()
}

// appOptions returns the options of package app according to the settings.
func (c commands) appOptions(db *store.Store) app.Options {
	return app.Options{
		Store:        db,
		Workspaces:   c.Manager(),
		Backends:     c.Backends(),
		Backend:      c.Config.Backend,
		Dirs:         c.Dirs,
		JournalBytes: c.Config.Terminal.JournalBytes,
		Grace:        time.Duration(c.Config.Terminal.Grace),
		Clipboard:    terminal.Clipboard(c.Config.Terminal.Clipboard),
		Ports:        store.PortRange(c.Config.Ports),
		Notify:       c.Config.Notify.Command,
		SetupTimeout: time.Duration(c.Config.Setup.Timeout),
		EnvRules:     environ.Rules{Forward: c.Config.Env.Forward, Deny: c.Config.Env.Deny},
		LoginShell:   c.Config.Shell.Login,
		Watch:        watch.Limits{Total: c.Config.Watch.Directories, Tree: c.Config.Watch.PerWorkspace},
		Profiles:     c.Config.Profiles,
		Sandbox:      c.Config.Sandbox,

		KeepTranscripts: int64(c.Config.Transcripts.Keep),
	}
}

// notify tells systemd that the server is ready. A failure is only reported. A
// server in the background is no unit of its own, so it only removes an
// inherited NOTIFY_SOCKET.
func (c commands) notify(o serveOptions) error {
	if o.ready {
		return os.Unsetenv("NOTIFY_SOCKET")
	}
	if err := systemd.Ready(); err != nil {
		fmt.Fprintf(c.Errs, "middleman: %v\n", err)
	}
	return nil
}

// announce reports that the server is ready: to the process that started it in
// the background, or on standard output, with a login link if o.printLink is set.
func (c commands) announce(ctx context.Context, o serveOptions) error {
	if o.ready && o.again {
		return nil // who started it has its answer
	}
	if o.ready {
		pipe := client.ReadyPipe()
		if pipe == nil {
			return cli.Usagef("--report-ready needs a pipe on file descriptor 3: use --background, which sets it up")
		}
		_, err := pipe.WriteString(client.Ready)
		return errors.Join(err, pipe.Close())
	}
	serve, err := client.ReadServe(c.Dirs)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "listening on %s\n", serve.URL())
	if o.runtime {
		pin := ""
		if _, authority, err := c.loadCertificate(o); err == nil && authority != nil {
			pin = " --pin " + authority.Fingerprint()
		}
		fmt.Fprintf(c.Out, "a hub adds it with: middleman runtime add NAME %s --token-file FILE%s; `middleman token create hub --scope full` prints what belongs in FILE\n", serve.URL(), pin)
		return nil
	}
	if serve.Socket == "" {
		return nil
	}
	if !o.printLink {
		fmt.Fprintln(c.Out, "log in with the link that `middleman open` prints")
		return nil
	}
	own := client.New(serve.Socket)
	defer own.Close()
	link, err := own.LoginLink(ctx, api.NewLoginLink{})
	if err != nil { // the disk may be full: the server runs all the same
		fmt.Fprintf(c.Errs, "middleman: no login link now: %v; `middleman open` makes one later\n", err)
		return nil
	}
	fmt.Fprintf(c.Out, "log in with %s\n", link.URL)
	return nil
}
