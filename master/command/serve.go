package command

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"amazonsfarm/master/access"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/web"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// drainPatience is how long a serving master waits for calls in flight after its work streams have
// ended.
const drainPatience = 2 * time.Second

// serveFlags are what a serving master is told, beside the settings, which hold most of it.
type serveFlags struct {
	settings            *settings
	board               string
	moves               []string
	listen, http, https string
	credentials         string
	insecure            bool
	level               string
}

// serveCommand is flags, validate and start. Nothing is opened before validate has accepted all flags
// and settings, so a mistake leaves no file behind.
func serveCommand() *cobra.Command {
	f := &serveFlags{settings: newSettings()}
	o := &f.settings.farm
	c := &cobra.Command{
		Use:   "serve --store FILE [--board BOARD|POSITION]",
		Short: "Serve campaigns to workers on this and other machines",
		Long:  help.Long("serve"),
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			log, err := cli.Logger(c.ErrOrStderr(), f.level)
			if err != nil {
				return err
			}
			if err := f.validate(); err != nil {
				return err
			}
			return f.start(c, log)
		},
	}
	flags := c.Flags()
	flags.StringVar(&f.board, "board", "", "solve this `BOARD` or position (default: what the store has)")
	f.settings.addCampaign(flags, &f.moves)
	flags.StringVar(&o.Name, "name", "", "call a new campaign `NAME` (default: its board)")
	flags.BoolVar(&o.Loop.Stay, "stay", false, "keep answering when all is settled")
	flags.StringVar(&o.StoreFile, "store", "", "keep the campaigns in `FILE`")
	flags.StringVar(&o.ProofFile, "proof", "", "write the first certificate to `FILE` (default: beside the store)")
	flags.StringVar(&f.listen, "listen", defaultMaster, "serve workers and operators at `ADDR`")
	flags.StringVar(&f.http, "http", "", "serve pages, /metrics, /healthz, /readyz at `ADDR` (default: none)")
	flags.StringVar(&f.https, "https", "",
		"serve the same encrypted, and operators' commands, at `ADDR` (default: none)")
	flags.StringVar(&f.credentials, "credentials", "", "encrypt, with the master's credential in `FOLDER`")
	flags.BoolVar(&f.insecure, "insecure", false, "allow unencrypted connections from other machines")
	flags.BoolVar(&o.Services.AllowOtherBuilds, "allow-other-builds", false, "accept workers of other builds")
	cli.LogLevelFlag(flags, &f.level, "info")
	f.settings.addTo(flags, "initial-budget", "max-budget", "heartbeat", "tree-positions", "check-first", "min-free")
	cli.Group(flags, "Campaign", "board", "first-move", "rules-only", "name", "nodes", "easy-replies", "stay")
	cli.Group(flags, "Files", "store", "proof", "config", "min-free")
	cli.Group(flags, "Connections", "listen", "http", "https", "credentials", "insecure", "allow-other-builds",
		"check-first")
	cli.Group(flags, "Work", "initial-budget", "max-budget", "heartbeat", "tree-positions")
	cobra.CheckErr(c.MarkFlagRequired("store")) // the flag is defined above
	return c
}

// validate refuses what cannot be served, before anything is opened, and completes the settings.
func (f *serveFlags) validate() error {
	if err := f.settings.read(); err != nil {
		return err
	}
	o := &f.settings.farm
	switch {
	case f.board != "":
		q, err := parseQuestion("--board: ", f.board, f.moves, amazons.Position.CheckQueens)
		if err != nil {
			return err
		}
		if err := record.CheckName(o.Name); err != nil {
			return cli.Usagef("--name: %w", err)
		}
		o.Root, o.FirstMoves = q.root, q.firstMoves
	case len(f.moves) > 0 || o.RulesOnly || o.Name != "":
		return cli.Usagef("--first-move, --rules-only and --name belong to --board: " +
			"give the board, or leave them out to continue the campaigns of the store")
	}
	o.ProofFile = cmp.Or(o.ProofFile, campaign.ProofFile(o.StoreFile))
	if err := checkFiles(o.StoreFile, o.ProofFile, false); err != nil {
		return err
	}
	if _, err := cli.Address("listen", f.listen, defaultMaster); err != nil {
		return err
	}
	if err := cli.CheckSecurity(f.credentials, f.insecure); err != nil {
		return err
	}
	switch {
	case f.credentials == "" && f.https != "":
		return cli.Usagef("--https %s: it needs --credentials, the folder of the master's credential", f.https)
	case f.credentials == "" && !f.insecure && !cli.Loopback(f.listen):
		return cli.Usagef("--listen %s: without --credentials connections are not encrypted; "+
			"use --credentials, a loopback address, or --insecure where the network is trusted", f.listen)
	}
	o.Services.Build = agent.Build()
	return nil
}

// start opens the store, serves its campaigns until they are over, and prints their results.
func (f *serveFlags) start(c *cobra.Command, log *slog.Logger) error {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	guard, err := f.guard(registry, log)
	if err != nil {
		return err
	}
	// Addresses come before the store: one that is taken ends the command at once, and not after a check
	// of the whole store.
	on, err := f.open(guard)
	if err != nil {
		return err
	}
	defer on.Close()
	o := f.settings.farm
	o.Registerer, o.Log = registry, log
	campaigns, err := campaign.Open(o)
	if errors.Is(err, store.ErrMissing) {
		return fmt.Errorf("%w, or give --board", err)
	} else if err != nil {
		return err
	}
	defer campaigns.Close()
	drain, abort, stop := cli.Signals(c.Context())
	defer stop()

	// The pages outlive both signals, so a drain can be watched to its end.
	pages, closePages := context.WithCancel(context.WithoutCancel(abort))
	defer closePages()
	site := f.site(pages, campaigns.Loop, registry, guard, log)
	server := rpc.NewServer(campaigns.Loop, campaigns.Services,
		rpc.ServerOptions{Registerer: registry, Log: log, Guard: guard})
	var shells sync.WaitGroup
	defer shells.Wait()
	shells.Go(func() { _ = server.Serve(on.workers) })
	shells.Go(func() { campaigns.Tend(pages) })
	if guard != nil {
		shells.Go(func() { guard.Run(pages) })
	}
	if len(on.pages) > 0 {
		shells.Go(func() {
			if err := site.Serve(pages, on.pages...); err != nil {
				log.Error("the pages are not served any more", "error", err)
			}
		})
	}
	f.announce(c.ErrOrStderr(), on, campaigns)
	// The goroutine below writes signalled, which is read after shells.Wait. It tells a drain by a
	// signal from one by an operator, which is no interruption.
	ended := make(chan struct{})
	signalled := false
	shells.Go(func() {
		select {
		case <-drain.Done():
			signalled = true
			_ = campaigns.Loop.Drain(abort)
		case <-ended:
		}
	})
	err = campaigns.Loop.Run(abort)
	close(ended)
	// The loop has ended the streams of workers. Now the other calls end, then the pages, and at last
	// the deferred call closes the store, which nobody uses any more.
	server.StopWithin(drainPatience)
	closePages()
	shells.Wait()

	for _, result := range campaigns.Results(err) {
		if _, printErr := fmt.Fprint(c.OutOrStdout(), result); printErr != nil {
			return printErr
		}
	}
	if errors.Is(err, loop.ErrDrained) && signalled || abort.Err() != nil {
		return cli.As(cli.ErrInterrupted, nil)
	}
	return err
}

// guard reads the credentials of the master, nil where it has none.
func (f *serveFlags) guard(registry *prometheus.Registry, log *slog.Logger) (*access.Guard, error) {
	if f.credentials == "" {
		return nil, nil
	}
	files, err := identity.Open(f.credentials, identity.Master)
	if err != nil {
		return nil, cli.Usagef("--credentials %s: %w", f.credentials, err)
	}
	return access.NewGuard(access.GuardOptions{Files: files, Limits: f.settings.access, Registerer: registry,
		Log: log}), nil
}

// listeners are the open addresses of a master.
type listeners struct {
	workers net.Listener
	pages   []net.Listener
	urls    []string // of pages
}

// open listens at all addresses. Also with an error, what is returned must be closed.
func (f *serveFlags) open(guard *access.Guard) (on listeners, err error) {
	defer func() {
		if err != nil {
			on.Close()
		}
	}()
	if on.workers, err = cli.Listen("listen", f.listen, defaultMaster); err != nil {
		return on, err
	}
	on.workers = access.NewDoor(on.workers, descriptors()/2, guard == nil)
	for _, at := range []struct{ scheme, address string }{{"http", f.http}, {"https", f.https}} {
		if at.address == "" {
			continue
		}
		l, err := cli.Listen(at.scheme, at.address, defaultHTTP)
		if err != nil {
			return on, err
		}
		l = access.NewDoor(l, descriptors()/8, false)
		on.urls = append(on.urls, at.scheme+"://"+l.Addr().String())
		// TLS lies around the door, so a connection has a place before its handshake costs anything.
		if at.scheme == "https" {
			l = tls.NewListener(l, guard.PagesTLS())
		}
		on.pages = append(on.pages, l)
	}
	return on, nil
}

// descriptors returns how many files and connections this process may have open. Connections get three
// quarters of them, so that the store and certificates can always be written.
func descriptors() int {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit) != nil {
		return 1024
	}
	return int(min(limit.Cur, 1<<20))
}

// Close closes all addresses; those that are closed already stay so.
func (on listeners) Close() {
	if on.workers != nil {
		on.workers.Close()
	}
	for _, l := range on.pages {
		l.Close()
	}
}

// site makes the pages of a master, which end with ctx.
func (f *serveFlags) site(ctx context.Context, l *loop.Loop, registry *prometheus.Registry, guard *access.Guard,
	log *slog.Logger) *web.Server {
	w := f.settings.pages
	w.Gatherer, w.Command, w.Log = registry, l.Command, log
	w.Campaign = func(name string) (web.Campaign, error) { return rpc.CampaignOf(l, name) }
	for _, address := range []string{f.http, f.https} {
		if host, _, err := net.SplitHostPort(address); err == nil {
			w.Hosts = append(w.Hosts, strings.ToLower(host))
		}
	}
	w.Ready = func() error { return ready(ctx, l) }
	if guard != nil {
		w.Operator, w.Hosts = guard.Operator, append(w.Hosts, guard.Hosts()...)
		w.Ready = func() error { return cmp.Or(guard.Dated(), ready(ctx, l)) }
	}
	w.Alive = func() error {
		_, err := alive(ctx, l)
		return err
	}
	return web.New(w)
}

// announce says on the terminal where the master is and what it serves.
func (f *serveFlags) announce(w io.Writer, on listeners, campaigns *campaign.Farm) {
	for _, url := range on.urls {
		fmt.Fprintf(w, "master: status page and metrics on %s\n", url)
	}
	how := "continues"
	if campaigns.Created {
		how = "made"
	}
	fmt.Fprintf(w, "master: %s store %s\n", how, f.settings.farm.StoreFile)
	var names []string
	for _, about := range campaigns.Loop.Campaigns() {
		names = append(names, about.Name)
	}
	if len(names) > 1 {
		fmt.Fprintf(w, "master: campaigns %s\n", strings.Join(names, ", "))
	}
	fmt.Fprintf(w, "master: workers join at %s\n", on.workers.Addr())
}

// probePatience is the longest a probe waits for the loop, which commits to disk between answers.
const probePatience = 5 * time.Second

// alive returns what the loop says of its campaigns. The error is nil while the loop answers. Where
// it is not, starting the master again may help, and the store has everything.
func alive(ctx context.Context, l *loop.Loop) ([]loop.View, error) {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	return l.Views(ctx)
}

// ready is nil while workers can join with a hope for work: one campaign that is neither drained nor
// stopped is enough.
func ready(ctx context.Context, l *loop.Loop) error {
	all, err := alive(ctx, l)
	for _, c := range all {
		if c.State != loop.StateDraining && c.State != loop.StateStopped {
			return nil
		}
		err = fmt.Errorf("%s: %s", c.State, c.Why)
	}
	return err
}
