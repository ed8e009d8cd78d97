package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
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

// runFlags are the flags of run.
type runFlags struct {
	search                      searchFlags
	master, credentials, listen string
	insecure                    bool
	level                       string
	agent                       agent.Config
}

func runCommand() *cobra.Command {
	var o runFlags
	c := &cobra.Command{
		Use:   "run",
		Short: "Work for a master until its campaign is over",
		Long:  help.Long("run"),
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if err := o.check(c.ErrOrStderr()); err != nil {
				return err
			}
			return o.run(c)
		},
	}
	o.add(c)
	return c
}

func (o *runFlags) add(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&o.master, "master", defaultMaster, "work for the master at `ADDR`, a host and a port")
	f.StringVar(&o.credentials, "credentials", "", "connect with this worker's credential in `FOLDER`")
	f.BoolVar(&o.insecure, "insecure", false, "allow a master on another machine without encryption")
	f.StringVar(&o.agent.Name, "name", "", "call this worker `NAME`, unique in the farm (default: made up)")
	cli.Group(f, "Master", "master", "credentials", "insecure", "name")
	o.search.add(c, 1<<30)
	cli.Group(f, "Search", "cores", "table")
	f.DurationVar(&o.agent.JoinTimeout, "join-timeout", time.Minute,
		"give up when the master is not reached within `TIME`")
	f.DurationVar(&o.agent.AwayTimeout, "away-timeout", 24*time.Hour,
		"give up when a lost master is not back within `TIME`")
	f.DurationVar(&o.agent.IdleTimeout, "idle-timeout", 0, "end after `TIME` without work (default: never)")
	cli.Group(f, "Waiting", "join-timeout", "away-timeout", "idle-timeout")
	f.StringVar(&o.listen, "http", "", "serve /metrics, /healthz and /readyz at `ADDR`, such as "+defaultHTTP)
	cli.LogLevelFlag(f, &o.level, "info")
	cli.Group(f, "Watching", "http", "log-level")
}

// check refuses flags that are wrong or contradict each other.
func (o *runFlags) check(stderr io.Writer) error {
	if err := checkTable(&o.search.table, stderr); err != nil {
		return err
	}
	if err := cli.CheckSecurity(o.credentials, o.insecure); err != nil {
		return err
	}
	if err := o.checkAddress(); err != nil {
		return err
	}
	if o.agent.JoinTimeout <= 0 || o.agent.AwayTimeout <= 0 {
		return cli.Usagef("--join-timeout and --away-timeout must be longer than zero")
	}
	if o.agent.IdleTimeout < 0 {
		return cli.Usagef("--idle-timeout %v must be positive, or 0 for never", o.agent.IdleTimeout)
	}
	return nil
}

// run works until the campaign is over.
// The first signal reaches the agent as a channel, and only the second one ends its context: to return a
// lease the agent still needs its connection.
func (o *runFlags) run(c *cobra.Command) error {
	log, err := cli.Logger(c.ErrOrStderr(), o.level)
	if err != nil {
		return err
	}
	transport, files := insecure.NewCredentials(), (*identity.Files)(nil)
	if o.credentials != "" {
		files, err = identity.Open(o.credentials, identity.Worker)
		if err != nil {
			return cli.Usagef("--credentials %s: %w", o.credentials, err)
		}
		transport = agent.Credentials(files, log)
		o.agent.Name = agent.NameFor(files.Current().Identity, o.agent.Name)
	}
	drain, abort, stop := cli.Signals(c.Context())
	defer stop()
	o.agent.Cores, o.agent.TableBytes = o.search.cores, o.search.table.Bytes
	o.agent.Drain, o.agent.Log, o.agent.Stats = drain.Done(), log, new(agent.Stats)
	if o.listen != "" {
		listener, err := cli.Listen("http", o.listen, defaultHTTP)
		if err != nil {
			return err
		}
		ctx, end := context.WithCancel(context.Background())
		var served sync.WaitGroup
		defer served.Wait()
		defer end()
		served.Go(func() {
			_ = cli.ServeHTTP(ctx, &http.Server{Handler: newHandler(o.agent.Stats),
				ReadHeaderTimeout: 10 * time.Second}, listener)
		})
	}
	// This does not connect yet. A master that is not there is no error here; the agent tries until
	// --join-timeout is over.
	conn, err := grpc.NewClient("dns:///"+o.master,
		append(agent.DialOptions(), grpc.WithTransportCredentials(transport))...)
	if err != nil {
		return cli.Usagef("--master %s: %w", o.master, err)
	}
	defer conn.Close()
	err = agent.Run(abort, conn, o.agent)
	s := o.agent.Stats
	if err == nil || s.Leases.Load() > 0 {
		log.Info("worked", "leases", s.Leases.Load(), "nodes", s.Nodes.Load(),
			"search_seconds", s.Search.Total().Seconds(), "extract_seconds", s.Extract.Total().Seconds(),
			"check_seconds", s.Check.Total().Seconds())
	}
	if errors.Is(err, agent.ErrUnreachable) || errors.Is(err, agent.ErrWrongMaster) {
		return fmt.Errorf("--master %s: %w", o.master, err)
	}
	if errors.Is(err, agent.ErrRefused) && files != nil {
		m := files.Current()
		return fmt.Errorf("%v, serial number %x: %w", m.Identity, m.Certificate.Leaf.SerialNumber, err)
	}
	return err
}

// checkAddress completes the address of the master. It refuses what is not a host and a port, and hosts
// beyond this machine unless that was allowed.
func (o *runFlags) checkAddress() (err error) {
	if o.master, err = cli.DialAddress("master", o.master, defaultMaster); err != nil {
		return err
	}
	if !o.insecure && o.credentials == "" && !cli.Loopback(o.master) {
		return cli.Usagef("--master %s: without --credentials connections are not encrypted; use --credentials, "+
			"a master on this machine, or --insecure where the network is trusted", o.master)
	}
	return nil
}
