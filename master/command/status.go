package command

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// statusCommand asks once, with workers and campaigns, or watches one campaign until it is settled.
func statusCommand() *cobra.Command {
	var (
		master        remote
		campaign      string
		watch, asJSON bool
		period        time.Duration
	)
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the progress of a serving master",
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
	c.Flags().StringVar(&campaign, "campaign", "", "show the campaign `NAME` (default: the first, and a line for each)")
	c.Flags().BoolVar(&watch, "watch", false, "show a line at each change")
	c.Flags().DurationVar(&period, "period", time.Second, "show at most one line of --watch in `TIME`")
	c.Flags().BoolVar(&asJSON, "json", false, "answer as JSON, a line for each status")
	return c
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
	fmt.Fprintf(&s, "tree           %d positions, %d to lease, %d leased, %d set aside\n", r.GetTreePositions(),
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
		fmt.Fprintf(&s, "quarantined    %d; master quarantine names them\n", n)
	}
	fmt.Fprintf(&s, "store          %s\n", r.GetStoreFile())
	for _, f := range r.GetFirstMoves() {
		if f.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED {
			fmt.Fprintf(&s, "first move     %s %s\n", f.GetMove(), document.FirstMoveWord(f))
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
		s += ", " + counted(n, "offence")
	}
	return s
}

// workersReport is a line for each worker: what it has, what it brought, and its running lease.
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

// campaignsReport are the campaigns in a status, nothing where there is one.
func campaignsReport(all []*farmv1.CampaignSummary) string {
	if len(all) < 2 {
		return ""
	}
	return "\n" + campaignTable(all)
}
