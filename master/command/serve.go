package command

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	guarding "amazonsfarm/master/access"
	"amazonsfarm/master/farm"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/web"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// drainPatience is how long a serving master waits for calls in flight after its work streams have
// ended.
const drainPatience = 2 * time.Second

func serveCommand() *cobra.Command {
	var (
		board, storeFile, proof     string
		name                        string
		moves                       []string
		maxCampaigns                int
		credit                      uint64
		listen, level               string
		httpAddress, httpsAddress   string
		open, stay, rulesOnly, any_ bool
		nodes                       uint64
		easy                        bool
		maxProved                   int
		certs                       string
		limits                      guarding.Limits
		uploads, certificate        cli.Size
		settings                    farm.Options
		bounds                      limitFlags
		pageSettings                web.Config
		minFree                     = cli.Size(store.DefaultMinFreeBytes)
	)
	c := &cobra.Command{
		Use:   "serve --store FILE [--board BOARD|POSITION]",
		Short: "Serve campaigns to workers on this and other machines",
		Long: `serve runs the master of the campaigns of a store; workers join it with "worker run --master ADDR". It goes on from its store,
also after a crash, and needs nothing else for it: --board makes the store with its first campaign, and afterwards holds it to have that one. It ends when each campaign
is settled and its certificate verified, or was ended (with --stay it keeps answering status requests). "master campaign" adds campaigns, and says whose turn it is.

The first SIGINT or SIGTERM calls all leases back and ends (exit code 130), the second ends at
once; both leave the store good.

With --credentials, the folder that "master certs init" made, connections are encrypted and workers and operators need a certificate; the
files in it may change while the master runs. The pages at --http are open to all who reach them and change nothing; on those at --https
an operator's certificate lets its owner pause, resume and drain. Without it an address that is not loopback needs --insecure.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var q question
			var err error
			switch {
			case board != "":
				if q, err = parseQuestion(board, moves); err != nil {
					return err
				}
			case len(moves) > 0 || rulesOnly || name != "":
				return cli.Usagef("--first-move, --rules-only and --name belong to --board: give the board, or leave them out to go on with the campaigns of the store")
			}
			if maxCampaigns < 0 {
				return cli.Usagef("--max-campaigns %d: give a number of campaigns, or 0 for the standard", maxCampaigns)
			}
			log, err := cli.Logger(c.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			if proof == "" {
				proof = farm.ProofFile(storeFile)
			}
			if err := checkFiles(storeFile, proof, false); err != nil {
				return err
			}
			if err := bounds.check(); err != nil {
				return err
			}
			if err := pageSettings.Check(); err != nil {
				return cli.Usagef("%w", err)
			}
			registry := prometheus.NewRegistry()
			var guard *guarding.Guard
			switch {
			case certs != "" && open:
				return cli.Usagef("--credentials and --insecure exclude each other")
			case certs != "":
				limits.UploadBytes = int64(uploads)
				if guard, err = newGuard(certs, limits, registry, log); err != nil {
					return err
				}
			case httpsAddress != "":
				return cli.Usagef("--https %s: it needs --credentials, the folder of the master's certificate", httpsAddress)
			case !open && !cli.Loopback(listen):
				return cli.Usagef("--listen %s: without --credentials connections are not encrypted; use --credentials, a loopback address, or --insecure where the network is trusted", listen)
			}
			rpcListener, err := net.Listen("tcp", listen)
			if err != nil {
				return fmt.Errorf("listen for workers: %w", err)
			}
			defer rpcListener.Close()
			var pageListeners []net.Listener
			var pageAddresses []string
			for _, at := range []struct{ scheme, address string }{{"http", httpAddress}, {"https", httpsAddress}} {
				if at.address == "" {
					continue
				}
				l, err := net.Listen("tcp", at.address)
				if err != nil {
					return fmt.Errorf("listen for %s: %w", at.scheme, err)
				}
				defer l.Close()
				pageAddresses = append(pageAddresses, at.scheme+"://"+l.Addr().String())
				if at.scheme == "https" {
					l = tls.NewListener(l, guard.PagesTLS())
				}
				pageListeners = append(pageListeners, l)
			}
			registry.MustRegister(collectors.NewGoCollector(),
				collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
			o := settings
			o.Root, o.FirstMoves, o.RulesOnly, o.Name, o.StoreFile, o.ProofFile = q.root, q.firstMoves, rulesOnly, name,
				storeFile, proof
			o.MaxCampaigns, o.Credit = maxCampaigns, credit
			o.Build, o.AllowOtherBuilds, o.MaxNodes, o.EasyReplies, o.MaxProved = agent.Build(), any_, nodes, easy,
				maxProved
			o.MinFreeBytes, o.Limits.MaxCertificateBytes = int64(minFree), int64(certificate)
			o.Stay, o.Registerer, o.Log = stay, registry, log
			f, err := farm.Open(o)
			if errors.Is(err, store.ErrMissing) {
				return fmt.Errorf("%w, or give --board", err)
			} else if err != nil {
				return err
			}
			defer f.Close()
			drain, abort, stop := cli.Signals(c.Context())
			defer stop()

			pages, closePages := context.WithCancel(context.WithoutCancel(abort))
			defer closePages()
			pageSettings.Gatherer, pageSettings.Campaign, pageSettings.Commands, pageSettings.Log = registry, f.Master,
				f.Master, log
			pageSettings.Named = func(name string) (web.Campaign, bool) {
				h, err := f.Master.Of(name)
				return h, err == nil
			}
			if guard != nil {
				pageSettings.Operator = guard.Operator
			}
			pageSettings.Ready = func() error { return ready(pages, f.Master) }
			pageSettings.Alive = func() error { return alive(pages, f.Master) }
			site, err := web.New(pageSettings)
			if err != nil {
				return err // Check has found nothing
			}
			server := rpc.NewServer(f.Master, rpc.ServerOptions{Registerer: registry, Log: log, Guard: guard})
			var shells sync.WaitGroup
			defer shells.Wait()
			shells.Go(func() { _ = server.Serve(rpcListener) })
			if guard != nil {
				shells.Go(func() { guard.Run(pages) })
			}
			if len(pageListeners) > 0 {
				shells.Go(func() {
					if err := site.Serve(pages, pageListeners...); err != nil {
						log.Error("http", "error", err)
					}
				})
			}
			for _, address := range pageAddresses {
				fmt.Fprintf(c.ErrOrStderr(), "master: status page and metrics on %s\n", address)
			}
			how := "going on with"
			if f.Created {
				how = "made"
			}
			fmt.Fprintf(c.ErrOrStderr(), "master: %s store %s\n", how, storeFile)
			if names := f.Master.Names(); len(names) > 1 {
				fmt.Fprintf(c.ErrOrStderr(), "master: campaigns %s\n", strings.Join(names, ", "))
			}
			fmt.Fprintf(c.ErrOrStderr(), "master: workers join at %s\n", rpcListener.Addr())
			ended := make(chan struct{})
			signalled := false
			shells.Go(func() {
				select {
				case <-drain.Done():
					signalled = true
					_ = f.Master.Drain(abort)
				case <-ended:
				}
			})
			err = f.Master.Run(abort)
			close(ended)
			server.StopWithin(drainPatience)
			closePages()
			shells.Wait()

			for _, result := range f.Results(err) {
				if _, printErr := fmt.Fprint(c.OutOrStdout(), result); printErr != nil {
					return printErr
				}
			}
			if errors.Is(err, rpc.ErrDrained) && signalled || abort.Err() != nil {
				return cli.As(cli.ErrInterrupted, nil)
			}
			return err
		},
	}
	flags := c.Flags()
	flags.StringVar(&board, "board", "", "board or position to solve (default: what the store has)")
	flags.StringArrayVar(&moves, "first-move", nil, "try only this move at the root; may be given several times")
	flags.StringVar(&name, "name", "", "name of the campaign, where the store is made (default: its board)")
	flags.StringVar(&storeFile, "store", "", "store of the campaigns; made if it is not there and there is a board")
	flags.StringVar(&proof, "proof", "", "file for the certificate of the first campaign (default: beside the store); those of others have their names in theirs")
	flags.IntVar(&maxCampaigns, "max-campaigns", 0,
		"campaigns that the store may have, those that are done included, 0: standard (64); each has a tree in memory")
	flags.Uint64Var(&credit, "campaign-credit", 0,
		"positions expanded that a campaign which could not use its share of the work may catch up, and by which two may be off before a worker leaves the board of one for that of the other, 0: standard (10,000,000); small: workers change boards often, each time with an empty table; large: a campaign that stood still has all of the farm for long")
	flags.StringVar(&listen, "listen", "127.0.0.1:7171", "address for workers and operators")
	flags.StringVar(&httpAddress, "http", "", "address for the status page, /metrics, /healthz and /readyz, open to all who reach it (default: none)")
	flags.StringVar(&httpsAddress, "https", "", "with --credentials: address for the same, encrypted; a browser that shows the certificate of an operator may pause, resume and drain there (default: none)")
	flags.DurationVar(&pageSettings.Period, "http-period", 0,
		"how old the status page may be, 0: standard (1s); shorter: work for the master")
	flags.IntVar(&pageSettings.MaxLive, "http-live", 0,
		"open pages that are told of news at once, 0: standard (64); others ask every five seconds")
	flags.IntVar(&pageSettings.HistoryPoints, "http-history", 0,
		"points of the curve of proof numbers, 0: standard (600); fewer: a coarse curve")
	flags.Float64Var(&pageSettings.ExploresPerSecond, "http-explores", 0,
		"positions a second that the explorer looks up for all readers together, 0: standard (20); each takes the master some ten milliseconds")
	flags.StringVar(&certs, "credentials", "", "folder of the master's certificate and its authority: encrypt, and ask workers and operators for theirs")
	flags.BoolVar(&open, "insecure", false, "allow unencrypted connections from other machines")
	flags.Float64Var(&limits.MessagesPerSecond, "limit-messages", 0,
		"with --credentials: messages a second from one name, 0: standard (4000); smaller: good workers are cut off; larger: one can keep the master busy")
	flags.IntVar(&limits.MessageBurst, "limit-burst", 0,
		"with --credentials: messages at once from one name, 0: standard (four seconds' worth); smaller: a worker that brings in what has waited is cut off")
	flags.IntVar(&limits.OpenCalls, "limit-calls", 0,
		"with --credentials: calls and streams at a time from one name, 0: standard (64); a worker process needs two, and with fewer some that share a name cannot join; larger: one can hold all places for uploads")
	flags.Var(&uploads, "limit-upload", "with --credentials: bytes of uploads at a time from one name (standard 1 GiB); a larger certificate is never taken")
	flags.BoolVar(&stay, "stay", false, "keep answering when the campaign is settled")
	flags.BoolVar(&rulesOnly, "rules-only", false, "prove by the rules of the game alone, without the counting lemma")
	flags.BoolVar(&any_, "allow-other-builds", false, "take workers of other builds")
	flags.Uint64Var(&nodes, "nodes", 0, "stop after about so many expanded positions in all, 0: never (exit code 3)")
	bounds.addTree(flags, &settings)
	bounds.addServices(flags, &settings, &certificate)
	bounds.addTrust(flags, &settings)
	flags.IntVar(&maxProved, "verify-uploads", 1<<28,
		"proved positions to remember, of 11 to 16 bytes each, so that what workers upload can be verified before it is stored; -1: verify at the end only")
	flags.Var(&minFree, "min-free", minFreeHelp)
	flags.BoolVar(&easy, "easy-replies", false, "settle the replies to first moves one by one, the easiest first: for lists of replies")
	cli.LogLevelFlag(flags, &level, "info")
	if err := c.MarkFlagRequired("store"); err != nil {
		panic(err) // the flag is defined above
	}
	return c
}

// newGuard reads the certificates of a serving master.
func newGuard(folder string, limits guarding.Limits, registry *prometheus.Registry, log *slog.Logger) (*guarding.Guard, error) {
	files, err := identity.OpenMaster(folder)
	if err != nil {
		return nil, cli.Usagef("--credentials %s: %w", folder, err)
	}
	guard, err := guarding.NewGuard(guarding.GuardOptions{Files: files, Limits: limits, Registerer: registry, Log: log})
	if err != nil {
		return nil, cli.Usagef("%w", err)
	}
	return guard, nil
}

// The longest a probe waits for the loop: it commits to disk between answers.
const probePatience = 5 * time.Second

func alive(ctx context.Context, m *rpc.Master) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	_, err := m.View(ctx)
	return err
}

func ready(ctx context.Context, m *rpc.Master) error {
	ctx, cancel := context.WithTimeout(ctx, probePatience)
	defer cancel()
	all, err := m.Summaries(ctx)
	if err != nil {
		return err
	}
	for _, c := range all {
		switch c.GetState() {
		case rpc.StateDraining:
			return fmt.Errorf("%s: %s", c.GetState(), c.GetWhy())
		case rpc.StateStopped:
			err = fmt.Errorf("%s: %s", c.GetState(), c.GetWhy())
		default:
			return nil // there is work, or may be
		}
	}
	return err
}
