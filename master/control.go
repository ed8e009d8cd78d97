package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// callTimeout bounds a call to a master.
const callTimeout = 10 * time.Second

const defaultMaster = "127.0.0.1:7171"

// access says how an operator reaches a master.
type access struct {
	address, certs string
	plaintext      bool // from other machines, too
}

func (a *access) add(c *cobra.Command) {
	c.Flags().StringVar(&a.address, "master", defaultMaster, "address of the master")
	c.Flags().StringVar(&a.certs, "certs", "", "folder of an operator, made by \"certs operator\": connect with its certificate")
	c.Flags().BoolVar(&a.plaintext, "insecure", false, "connect to a master on another machine without encryption")
}

// dial connects to a master's control service; the first call finds out whether there is one.
func (a *access) dial() (farmv1.ControlClient, io.Closer, error) {
	secured := insecure.NewCredentials()
	switch {
	case a.certs != "" && a.plaintext:
		return nil, nil, cli.Usagef("--certs and --insecure exclude each other")
	case a.certs != "":
		files, err := identity.OpenClient(a.certs, identity.Operator)
		if err != nil {
			return nil, nil, cli.Usagef("--certs %s: %w", a.certs, err)
		}
		secured = agent.Credentials(files, slog.New(slog.DiscardHandler))
	case !a.plaintext && !cli.Loopback(a.address):
		return nil, nil, cli.Usagef("--master %s: without --certs connections are not encrypted; use --certs, or --insecure where the network is trusted", a.address)
	}
	conn, err := grpc.NewClient("passthrough:///"+
		a.address, append(agent.DialOptions(), grpc.WithTransportCredentials(secured))...)
	if err != nil {
		return nil, nil, cli.Usagef("--master %s: %w", a.address, err)
	}
	return farmv1.NewControlClient(conn), conn, nil
}

// ask makes one call to a's master and returns what it answers within callTimeout. The error is as
// it came; see callError.
func ask[R any](ctx context.Context, a *access, call func(context.Context, farmv1.ControlClient) (R, error)) (r R,
	err error) {
	client, conn, err := a.dial()
	if err != nil {
		return r, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return call(ctx, client)
}

// callError turns what a call returned into a sentence.
func callError(address string, err error) error {
	s, ok := status.FromError(err)
	if !ok {
		return err
	}
	if agent.RefusedByCertificate(err) {
		return fmt.Errorf("the master at %s refuses: %s", address, agent.Reason(err))
	}
	switch s.Code() {
	case codes.Unavailable:
		return fmt.Errorf("no master answers at %s: %s", address, agent.Reason(err))
	case codes.DeadlineExceeded:
		return fmt.Errorf("the master at %s did not answer within %v", address, callTimeout)
	case codes.Canceled:
		return cli.Exit(cli.ExitInterrupted, nil)
	}
	return fmt.Errorf("master at %s: %s", address, s.Message())
}

func statusCommand() *cobra.Command {
	var (
		master        access
		campaign      string
		watch, asJSON bool
		period        time.Duration
	)
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how far a serving master is",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if period < 100*time.Millisecond || period > time.Hour {
				return cli.Usagef("--period %v: it must be from 100ms to 1h", period)
			}
			client, conn, err := master.dial()
			if err != nil {
				return err
			}
			defer conn.Close()
			ctx, _, stop := cli.Signals(c.Context())
			defer stop()
			if !watch {
				ctx, cancel := context.WithTimeout(ctx, callTimeout)
				defer cancel()
				r, err := client.Status(ctx, &farmv1.StatusRequest{Campaign: campaign})
				if err != nil {
					return callError(master.address, err)
				}
				if !asJSON {
					w, err := client.Workers(ctx, &farmv1.WorkersRequest{})
					if err != nil {
						return callError(master.address, err)
					}
					_, err = io.WriteString(c.OutOrStdout(), statusReport(r)+campaignsReport(r.GetCampaigns())+
						workersReport(w))
					return err
				}
				return writeStatus(c.OutOrStdout(), r, true)
			}
			stream, err := client.Watch(ctx, &farmv1.WatchRequest{PeriodSeconds: period.Seconds(), Campaign: campaign})
			if err != nil {
				return callError(master.address, err)
			}
			var last *farmv1.StatusResponse
			for {
				r, err := stream.Recv()
				if err != nil {
					if last != nil && status.Code(err) == codes.Unavailable && last.GetState() == "settled" {
						return nil
					}
					return callError(master.address, err)
				}
				last = r
				if err := writeStatus(c.OutOrStdout(), r, asJSON); err != nil {
					return err
				}
			}
		},
	}
	master.add(c)
	c.Flags().StringVar(&campaign, "campaign", "", "name of the campaign (default: the first, with a line for each)")
	c.Flags().BoolVar(&watch, "watch", false, "show a line whenever something changed")
	c.Flags().DurationVar(&period, "period", time.Second, "shortest time between two lines of --watch")
	c.Flags().BoolVar(&asJSON, "json", false, "answer as JSON, one line a status")
	return c
}

type call func(context.Context, farmv1.ControlClient) (*farmv1.StatusResponse, error)

// control makes a command call a master and print the status that it answers with.
func control(c *cobra.Command, do func(context.Context, farmv1.ControlClient, []string) (*farmv1.StatusResponse,
	error)) *cobra.Command {
	var master access
	var asJSON bool
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := ask(c.Context(), &master, func(ctx context.Context,
			client farmv1.ControlClient) (*farmv1.StatusResponse, error) {
			return do(ctx, client, args)
		})
		if err != nil {
			return callError(master.address, err)
		}
		return writeStatus(c.OutOrStdout(), r, asJSON)
	}
	master.add(c)
	c.Flags().BoolVar(&asJSON, "json", false, "answer as JSON")
	return c
}

func controlCommands() []*cobra.Command {
	command := func(use, short string, do call) *cobra.Command {
		return control(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs},
			func(ctx context.Context, c farmv1.ControlClient, _ []string) (*farmv1.StatusResponse, error) {
				return do(ctx, c)
			})
	}
	return []*cobra.Command{
		command("pause", "Grant no new leases of any campaign; running ones go on",
			func(ctx context.Context, c farmv1.ControlClient) (*farmv1.StatusResponse, error) {
				return c.Pause(ctx, &farmv1.PauseRequest{})
			}),
		command("resume", "Grant leases again", func(ctx context.Context,
			c farmv1.ControlClient) (*farmv1.StatusResponse, error) {
			return c.Resume(ctx, &farmv1.ResumeRequest{})
		}),
		command("drain", "Call all leases back and end the master",
			func(ctx context.Context, c farmv1.ControlClient) (*farmv1.StatusResponse, error) {
				return c.Drain(ctx, &farmv1.DrainRequest{})
			}),
	}
}

func writeStatus(w io.Writer, r *farmv1.StatusResponse, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(document.OfStatus(r, false))
	}
	_, err := fmt.Fprintln(w, statusLine(r))
	return err
}

// statusLine is a status in one line.
func statusLine(r *farmv1.StatusResponse) string {
	won, lost := 0, 0
	for _, f := range r.GetFirstMoves() {
		switch f.GetOutcome() {
		case farmv1.Outcome_OUTCOME_WON:
			won++
		case farmv1.Outcome_OUTCOME_LOST:
			lost++
		}
	}
	name := r.GetCampaign().GetBoard()
	if len(r.GetCampaigns()) > 1 {
		name = r.GetCampaign().GetName()
	}
	s := fmt.Sprintf("%s %s (%s): %s nodes, proof number %d, disproof number %d, %d facts, %d workers, %d leased",
		name, r.GetState(), r.GetWhy(), count(r.GetNodes()+r.GetRunningNodes()), r.GetRootPhi(), r.GetRootDelta(),
		r.GetFactsWon()+r.GetFactsLost(), r.GetWorkers(), r.GetLeased())
	if n := len(r.GetFirstMoves()); n > 0 {
		s += fmt.Sprintf(", first moves: %d win, %d lose, %d open", won, lost, n-won-lost)
	}
	if r.GetWinner() != "" {
		s += ", winner: " + r.GetWinner()
	}
	return s
}

// statusReport is a status in several lines.
func statusReport(r *farmv1.StatusResponse) string {
	var s strings.Builder
	if len(r.GetCampaigns()) > 1 {
		fmt.Fprintf(&s, "name           %s\n", r.GetCampaign().GetName())
	}
	fmt.Fprintf(&s, "campaign       %s, %s\n", r.GetCampaign().GetBoard(), r.GetCampaign().GetRoot())
	if m := r.GetCampaign().GetFirstMoves(); len(m) > 0 {
		fmt.Fprintf(&s, "first moves    %s\n", strings.Join(m, " "))
	}
	fmt.Fprintf(&s, "state          %s: %s\n", r.GetState(), r.GetWhy())
	if r.GetWinner() != "" {
		fmt.Fprintf(&s, "winner         %s\n", r.GetWinner())
	}
	fmt.Fprintf(&s, "root           proof number %d, disproof number %d\n", r.GetRootPhi(), r.GetRootDelta())
	fmt.Fprintf(&s, "nodes          %d, and %d in running leases\n", r.GetNodes(), r.GetRunningNodes())
	fmt.Fprintf(&s, "tree           %d positions, %d to lease, %d leased, %d set aside\n", r.GetTreeNodes(),
		r.GetFrontier(), r.GetLeased(), r.GetSetAside())
	fmt.Fprintf(&s, "facts          %d won, %d lost, in %d fragments of %s\n", r.GetFactsWon(), r.GetFactsLost(),
		r.GetCertificates(),
		cli.FormatSize(int64(r.GetCertificateBytes())))
	fmt.Fprintf(&s, "running since  %.0f s\n", r.GetSeconds())
	if r.GetCertificateSha256() != "" {
		fmt.Fprintf(&s, "certificate    %s: %d positions, %d bytes, sha256 %s, verified %v\n", r.GetCertificateFile(),
			r.GetCertificatePositions(),
			r.GetCertificateFileBytes(), r.GetCertificateSha256(), r.GetVerified())
	}
	if n := r.GetQuarantined(); n > 0 {
		fmt.Fprintf(&s, "quarantined    %d; master quarantine says who and why\n", n)
	}
	fmt.Fprintf(&s, "store          %s\n", r.GetStoreFile())
	for _, f := range r.GetFirstMoves() {
		if f.GetOutcome() != farmv1.Outcome_OUTCOME_UNSPECIFIED {
			fmt.Fprintf(&s, "first move     %s %s\n", f.GetMove(), document.OutcomeWord(f.GetOutcome()))
		}
	}
	return s.String()
}

// standing says what others think of a worker's results.
func standing(w *farmv1.Worker) string {
	s := fmt.Sprintf("%d confirmed", w.GetConfirmed())
	if n := w.GetContradicted(); n > 0 {
		s += fmt.Sprintf(", %d contradicted", n)
	}
	if n := w.GetOffences(); n > 0 {
		s += fmt.Sprintf(", %d offences", n)
	}
	return s
}

func workersReport(r *farmv1.WorkersResponse) string {
	var s strings.Builder
	for _, w := range r.GetWorkers() {
		fmt.Fprintf(&s, "worker         %s: %d cores, table %s, %d results (%s), %d facts, %s nodes", w.GetName(),
			w.GetCores(),
			cli.FormatSize(int64(w.GetTableBytes())), w.GetResults(), standing(w), w.GetFacts(), count(w.GetNodes()))
		if w.GetLease() != 0 {
			fmt.Fprintf(&s, "; on %s, %s of %s nodes", w.GetPosition(), count(w.GetLeaseNodes()),
				count(w.GetBudgetNodes()))
		}
		s.WriteByte('\n')
	}
	return s.String()
}
