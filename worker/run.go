package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"time"

	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// defaultMaster is where a master listens when nothing else is said.
const defaultMaster = "127.0.0.1:7171"

func runCommand() *cobra.Command {
	var (
		flags                  searchFlags
		master, web, level     string
		certs                  string
		insecureMaster         bool
		config                 agent.Config
		early                  int
		joinTimeout, awayAfter time.Duration
	)
	c := &cobra.Command{
		Use:   "run",
		Short: "Work for a master until its campaign is over",
		Long: `run joins a master and searches what it is given until the campaign is over. When the master cannot be reached at first,
it keeps trying for --join-timeout; when it goes away later, for --away-timeout; where the master has no work for it, for
--idle-timeout, if that is given. The first SIGINT or SIGTERM hands back
what is being searched, with all that was learned, and ends with exit code 0; the second one aborts.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := flags.check(c.ErrOrStderr()); err != nil {
				return err
			}
			if err := checkAddress(master, insecureMaster || certs != ""); err != nil {
				return err
			}
			if joinTimeout <= 0 || awayAfter <= 0 {
				return cli.Usagef("--join-timeout and --away-timeout must be longer than zero")
			}
			if config.IdleTimeout < 0 {
				return cli.Usagef("--idle-timeout %v must be positive, or 0 for never", config.IdleTimeout)
			}
			if early < 0 || early > 100 {
				return cli.Usagef("--prefetch %d: it is a percentage of a lease's time, 1 to 100, or 0 for never",
					early)
			}
			if config.PrefetchPercent = early; early == 0 {
				config.PrefetchPercent = -1
			}
			log, err := cli.Logger(c.ErrOrStderr(), level)
			if err != nil {
				return err
			}
			secured := insecure.NewCredentials()
			switch {
			case certs != "" && insecureMaster:
				return cli.Usagef("--credentials and --insecure exclude each other")
			case certs != "":
				files, err := identity.OpenClient(certs, identity.Worker)
				if err != nil {
					return cli.Usagef("--credentials %s: %w", certs, err)
				}
				secured = agent.Credentials(files, log)
				config.Name = agent.NameFor(files.Current().Identity, config.Name)
			}
			drain, abort, stop := cli.Signals(c.Context())
			defer stop()
			config.Cores, config.TableBytes = flags.cores, flags.table.Bytes
			config.JoinTimeout, config.AwayTimeout = joinTimeout, awayAfter
			config.Drain, config.Log, config.Stats = drain.Done(), log, new(agent.Stats)
			if web != "" {
				end, err := serveHTTP(web, config.Stats)
				if err != nil {
					return cli.Usagef("--http %s: %w", web, err)
				}
				defer end()
			}
			conn, err := grpc.NewClient("dns:///"+
				master, append(agent.DialOptions(), grpc.WithTransportCredentials(secured))...)
			if err != nil {
				return cli.Usagef("--master %s: %w", master, err)
			}
			defer conn.Close()
			err = agent.Run(abort, conn, config)
			if errors.Is(err, agent.ErrUnreachable) {
				return fmt.Errorf("%s: %w", master, err)
			}
			return exitCode(err)
		},
	}
	flags.add(c, allCores(), 1<<30)
	f := c.Flags()
	f.StringVar(&master, "master", defaultMaster, "host and port of the master")
	f.StringVar(&config.Name, "name", "", "name of this worker, unique in the farm (default: made up); with --credentials the certificate's name comes before it")
	f.StringVar(&web, "http", "", "serve /metrics, /healthz and /readyz at this address, such as 127.0.0.1:9172")
	f.StringVar(&certs, "credentials", "", "folder of this worker, made by \"master certs worker\": connect with its certificate")
	f.BoolVar(&insecureMaster, "insecure", false, "allow a master that is not on this machine; the connection is not encrypted")
	f.DurationVar(&joinTimeout, "join-timeout", time.Minute,
		"how long to try until the master is reached for the first time")
	f.DurationVar(&awayAfter, "away-timeout", 24*time.Hour, "how long to try when the master has gone away")
	f.DurationVar(&config.IdleTimeout, "idle-timeout", 0,
		"end, with exit code 0, after so long without work, 0: never. For machines that are rented as long as there is some; too short: they go although work comes back")
	f.IntVar(&early, "prefetch", agent.PrefetchPercent,
		"percent of a lease's time that the wait for the next one may take; beyond it that is asked for before the running one ends, 0: never. Smaller: the next one is chosen with less knowledge")
	cli.LogLevelFlag(f, &level, "info")
	return c
}

// checkAddress refuses what is not a host and a port, and hosts beyond this machine unless that was
// allowed.
func checkAddress(address string, anywhere bool) error {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return cli.Usagef("--master %q: write HOST:PORT, for example %s", address, defaultMaster)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 || host == "" {
		return cli.Usagef("--master %q: write HOST:PORT with a port from 1 to 65535", address)
	}
	if !anywhere && !cli.Loopback(address) {
		return cli.Usagef("--master %s: without --credentials connections are not encrypted; use --credentials, a master on this machine, or --insecure where the network is trusted", address)
	}
	return nil
}

// serveHTTP serves metrics and health until the function it returns is called.
func serveHTTP(address string, stats *agent.Stats) (end func(), err error) {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	server := &http.Server{Handler: newHandler(stats), ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(listener) // ends with Shutdown
	}()
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			server.Close()
		}
		<-done
	}, nil
}
