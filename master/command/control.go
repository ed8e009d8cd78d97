package command

import (
	"context"

	"github.com/spf13/cobra"

	farmv1 "amazonsfarm/proto/farm/v1"
)

type call func(context.Context, farmv1.ControlClient) (*farmv1.StatusResponse, error)

// controlCommands change all campaigns of a master at once; "campaign pause" and others change one.
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
		command("drain", "Cancel all leases and end the master",
			func(ctx context.Context, c farmv1.ControlClient) (*farmv1.StatusResponse, error) {
				return c.Drain(ctx, &farmv1.DrainRequest{})
			}),
	}
}
