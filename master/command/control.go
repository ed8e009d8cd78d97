package command

import (
	"github.com/spf13/cobra"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// controlCommands change all campaigns of a master at once; "campaign pause" and others change one.
func controlCommands() []*cobra.Command {
	return []*cobra.Command{
		control(&cobra.Command{Use: "pause", Args: cobra.NoArgs,
			Short: "Grant no new leases of any campaign; running ones go on"},
			farmv1.ControlClient.Pause, func([]string) *farmv1.PauseRequest { return &farmv1.PauseRequest{} }),
		control(&cobra.Command{Use: "resume", Short: "Grant leases again", Args: cobra.NoArgs},
			farmv1.ControlClient.Resume, func([]string) *farmv1.ResumeRequest { return &farmv1.ResumeRequest{} }),
		control(&cobra.Command{Use: "drain", Short: "Cancel all leases and end the master", Args: cobra.NoArgs},
			farmv1.ControlClient.Drain, func([]string) *farmv1.DrainRequest { return &farmv1.DrainRequest{} }),
	}
}
