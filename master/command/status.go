package command

import (
	"context"
	"fmt"
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
		master   remote
		campaign string
		watch    bool
		period   time.Duration
	)
	c := &cobra.Command{Use: "status", Short: "Show the progress of a serving master", Args: cobra.NoArgs}
	asJSON := cli.JSONFlag(c)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, _ []string) error {
		if watch {
			r := &farmv1.WatchRequest{PeriodSeconds: period.Seconds(), Campaign: campaign}
			return watchStatus(ctx, c, &master, r, *asJSON)
		}
		r, err := ask(ctx, &master, farmv1.ControlClient.Status, &farmv1.StatusRequest{Campaign: campaign})
		if err != nil {
			return err
		}
		if *asJSON {
			return cli.Answer(c, true, document.OfStatus(r, false), "")
		}
		w, err := ask(ctx, &master, farmv1.ControlClient.Workers, &farmv1.WorkersRequest{})
		if err != nil {
			return err
		}
		text := statusReport(r) + workersReport(w)
		if all := r.GetCampaigns(); len(all) > 1 {
			text = statusReport(r) + "\n" + campaignTable(all) + workersReport(w)
		}
		return cli.Answer(c, false, nil, text)
	})
	master.add(c)
	c.Flags().StringVar(&campaign, "campaign", "", "show the campaign `NAME`, and a line for each (default: the first)")
	c.Flags().BoolVar(&watch, "watch", false, "show a line at each change")
	cli.Ranged(c.Flags(), c.Flags().DurationVar, "period", &period, time.Second, 100*time.Millisecond, time.Hour,
		"show at most one line of --watch in `TIME`")
	return c
}

// watchStatus prints each status that a master sends. The master ends the stream when the campaign
// is settled; any other end is an error.
func watchStatus(ctx context.Context, c *cobra.Command, master *remote, r *farmv1.WatchRequest, asJSON bool) error {
	client, conn, err := master.dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	stream, err := client.Watch(ctx, r)
	if err != nil {
		return callError(master.address, err)
	}
	var shown meter
	for state := ""; ; {
		r, err := stream.Recv()
		if status.Code(err) == codes.Unavailable && state == "settled" {
			return nil
		}
		if err != nil {
			return callError(master.address, err)
		}
		state = r.GetState()
		if err := cli.Answer(c, asJSON, document.OfStatus(r, false), shown.line(r)+"\n"); err != nil {
			return err
		}
	}
}

// someLosing is how many losing first moves a status names: there may be hundreds, and people look for those that win.
const someLosing = 5

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
	if p := r.GetPhase(); p != nil {
		phase, detail := doing(r)
		fmt.Fprintf(&s, "now            %s\n", strings.TrimSuffix(phase+", "+detail, ", "))
	}
	if text := movesSettled(r.GetFirstMoves()); text != "" && r.GetWinner() == "" {
		fmt.Fprintf(&s, "progress       %s\n", text)
	}
	if e := r.GetEvidence(); e > 0 {
		fmt.Fprintf(&s, "evidence       %.0f %% of the nodes in running leases are below decided positions\n", 100*e)
	}
	estimates := "estimates of the work left"
	switch min(r.GetRootPhi(), r.GetRootDelta()) {
	case 0:
		estimates = "no work is left"
	case 1:
		estimates = "no estimates of the work left before all first moves are searched"
	}
	fmt.Fprintf(&s, "root           proof number %s, disproof number %s: %s\n", numberText(r.GetRootPhi()),
		numberText(r.GetRootDelta()), estimates)
	fmt.Fprintf(&s, "nodes          %d, and %d in running leases\n", r.GetNodes(), r.GetRunningNodes())
	fmt.Fprintf(&s, "tree           %s, %d to lease, %d leased, %d set aside\n",
		cli.Counted(r.GetTreePositions(), "position"), r.GetFrontier(), r.GetLeased(), r.GetSetAside())
	fmt.Fprintf(&s, "facts          %d won, %d lost\n", r.GetFactsWon(), r.GetFactsLost())
	whose := ""
	if len(r.GetCampaigns()) > 1 {
		whose = ", for all campaigns"
	}
	fmt.Fprintf(&s, "stored         %s of %s%s\n", cli.Counted(r.GetCertificates(), "part"),
		cli.FormatSize(int64(r.GetCertificateBytes())), whose)
	fmt.Fprintf(&s, "running for    %s\n", duration(r.GetSeconds()))
	if r.GetCertificateSha256() != "" {
		fmt.Fprintf(&s, "certificate    %s: %s, %d bytes, sha256 %s, verified %s\n", r.GetCertificateFile(),
			cli.Counted(r.GetCertificatePositions(), "position"), r.GetCertificateFileBytes(), r.GetCertificateSha256(),
			cli.VerifiedWord(r.GetVerified(), r.GetVerifiedBy()))
	}
	if n := r.GetQuarantined(); n > 0 {
		fmt.Fprintf(&s, "quarantined    %d; master quarantine names them\n", n)
	}
	fmt.Fprintf(&s, "store          %s\n", r.GetStoreFile())
	losing := 0
	for _, f := range r.GetFirstMoves() {
		switch f.GetVerdict() {
		case farmv1.Verdict_VERDICT_UNSPECIFIED:
			continue
		case farmv1.Verdict_VERDICT_LOST:
			if losing++; losing > someLosing {
				continue
			}
		}
		fmt.Fprintf(&s, "first move     %s %s\n", f.GetMove(), document.FirstMoveWord(f))
	}
	if losing > someLosing {
		fmt.Fprintf(&s, "first move     and %d more that lose (--json has all)\n", losing-someLosing)
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
		s += ", " + cli.Counted(n, "offence")
	}
	return s
}

// workersReport is a line for each worker: what it has, what it brought, and its running lease.
func workersReport(r *farmv1.WorkersResponse) string {
	var s strings.Builder
	for _, w := range r.GetWorkers() {
		fmt.Fprintf(&s, "worker         %s: %s, table %s, %s (%s), %s, %s nodes", w.GetName(),
			cli.Counted(w.GetCores(), "core"), cli.FormatSize(int64(w.GetTableBytes())),
			cli.Counted(w.GetResults(), "result"), standing(w), cli.Counted(w.GetFacts(), "fact"), count(w.GetNodes()))
		if w.GetLease() != 0 {
			fmt.Fprintf(&s, "; on %s (maybe mirrored), %s of %s nodes", w.GetPosition(), count(w.GetLeaseNodes()),
				count(w.GetBudgetNodes()))
			if n := w.GetLeaseNodes(); n > 0 { // before, it has not reported yet
				fmt.Fprintf(&s, ", %s nodes/s", count(uint64(float64(n)/max(1, w.GetLeaseSeconds()))))
			}
			if p := w.GetPhase(); p != nil {
				phase, detail := doing(&farmv1.StatusResponse{Phase: p})
				fmt.Fprintf(&s, ", %s", strings.TrimSuffix(phase+": "+detail, ": "))
			}
		}
		s.WriteByte('\n')
	}
	return s.String()
}
