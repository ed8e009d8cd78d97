package command

import (
	"context"
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

// unsendable begins the error about a message that cannot be sent, such as one with text that is not UTF-8.
const unsendable = "grpc: error while marshaling"

// remote says how an operator reaches a master.
type remote struct {
	address, credentials string
	plaintext            bool // from other machines, too
}

// add defines the flags of all commands that call a master.
func (r *remote) add(c *cobra.Command) {
	c.Flags().StringVar(&r.address, "master", defaultMaster, "ask the master at `ADDR`")
	c.Flags().StringVar(&r.credentials, "credentials", "", "connect with the operator's credential in `FOLDER`")
	c.Flags().BoolVar(&r.plaintext, "insecure", false, "connect to another machine without encryption")
}

// dial connects to a master's control service; the first call finds out whether there is one.
func (r *remote) dial() (farmv1.ControlClient, io.Closer, error) {
	secured := insecure.NewCredentials()
	address, err := cli.DialAddress("master", r.address, defaultMaster)
	if err != nil {
		return nil, nil, err
	}
	r.address = address
	if err := cli.CheckSecurity(r.credentials, r.plaintext); err != nil {
		return nil, nil, err
	}
	switch {
	case r.credentials != "":
		files, err := identity.Open(r.credentials, identity.Operator)
		if err != nil {
			return nil, nil, cli.Usagef("--credentials %s: %w", r.credentials, err)
		}
		secured = agent.Credentials(files, slog.New(slog.DiscardHandler))
	case !r.plaintext && !cli.Loopback(r.address):
		return nil, nil, cli.Usagef("--master %s: without --credentials connections are not encrypted; "+
			"use --credentials, or --insecure where the network is trusted", r.address)
	}
	conn, err := grpc.NewClient("passthrough:///"+r.address,
		append(agent.DialOptions(), grpc.WithTransportCredentials(secured))...)
	if err != nil {
		return nil, nil, cli.Usagef("--master %s: %w", r.address, err)
	}
	return farmv1.NewControlClient(conn), conn, nil
}

// method is a call of the control service, as a method expression of the generated client: its first
// argument is the connection. For example farmv1.ControlClient.Status asks for a status.
type method[Q, R any] func(farmv1.ControlClient, context.Context, Q, ...grpc.CallOption) (R, error)

// ask makes one call to a master and returns its answer, within callTimeout. Errors are sentences;
// see callError.
func ask[Q, R any](ctx context.Context, master *remote, call method[Q, R], request Q) (answer R, err error) {
	client, conn, err := master.dial()
	if err != nil {
		return answer, err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err = call(client, ctx, request)
	return answer, callError(master.address, err)
}

// callError turns what a call returned into a sentence.
// Errors about credentials come first, since they also have one of the codes below.
func callError(address string, err error) error {
	s, ok := status.FromError(err)
	if !ok || err == nil {
		return err
	}
	if agent.IsWrongMaster(err) {
		return cli.Usagef("--master %s: %s", address, agent.Reason(err))
	}
	if agent.RefusedByCredential(err) {
		return cli.As(agent.ErrRefused, fmt.Errorf("the master at %s refuses: %s", address, agent.Reason(err)))
	}
	switch s.Code() {
	case codes.Unavailable:
		if why := agent.Reason(err); strings.HasPrefix(why, agent.WrongDates) {
			return fmt.Errorf("--master %s: %s", address, why)
		}
		return fmt.Errorf("no master answers at %s: %s; start one with %s serve, or name another with --master",
			address, agent.Reason(err), cli.Program("master"))
	case codes.DeadlineExceeded:
		return fmt.Errorf("the master at %s did not answer within %v", address, callTimeout)
	case codes.Canceled:
		return cli.As(cli.ErrInterrupted, nil)
	case codes.InvalidArgument, codes.NotFound, codes.AlreadyExists: // what was asked for is wrong
		return cli.Usagef("%s", s.Message())
	}
	if strings.HasPrefix(s.Message(), unsendable) {
		return cli.Usagef("a name or position is not text in UTF-8")
	}
	return fmt.Errorf("the master at %s says: %s", address, s.Message())
}

// calling makes a command call a master and print what show makes of the answer: a document, or a
// text.
func calling[Q, R any](c *cobra.Command, call method[Q, R], request func(args []string) Q,
	show func(R) (document any, text string)) *cobra.Command {
	var master remote
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		r, err := ask(c.Context(), &master, call, request(args))
		if err != nil {
			return err
		}
		document, text := show(r)
		return cli.Answer(c, *asJSON, document, text)
	}
	master.add(c)
	return c
}

// control makes a command call a master and print the status that it answers with.
func control[Q any](c *cobra.Command, call method[Q, *farmv1.StatusResponse],
	request func(args []string) Q) *cobra.Command {
	return calling(c, call, request, showStatus)
}

// showStatus is a status in one line, for programs and for people.
func showStatus(r *farmv1.StatusResponse) (any, string) {
	return document.OfStatus(r, false), new(meter).line(r) + "\n"
}

// campaignTable lists campaigns, a line each.
func campaignTable(all []*farmv1.CampaignSummary) string {
	var rows [][]any
	for _, c := range all {
		rows = append(rows, []any{c.GetCampaign().GetName(), c.GetCampaign().GetBoard(), c.GetPriority(), c.GetShare(),
			c.GetState(), c.GetLeased(), count(c.GetNodes() + c.GetRunningNodes()), numberText(c.GetRootPhi()),
			numberText(c.GetRootDelta()), c.GetWinner()})
	}
	return table(0, "campaign|board|priority|share|state|leased|nodes|proof number|disproof number|winner", rows)
}
