package command

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
)

// verificationJSON is what verify says to programs. Fields may be added, never renamed.
type verificationJSON struct {
	MessageType string                `json:"message_type"` // "verification"
	File        string                `json:"file,omitempty"`
	Store       *campaign.StoreReport `json:"store,omitempty"`
	Verified    bool                  `json:"verified"` // the certificate holds; for a store: and all its records do
	Reason      string                `json:"reason,omitempty"`
	Fault       *checker.Fault        `json:"fault,omitempty"`
	Report      *checker.Report       `json:"report,omitempty"`
}

// verifyCommand runs the independent checker on a file, or on all that a store holds.
func verifyCommand() *cobra.Command {
	var (
		storeFile string
		rulesOnly bool
		cores     int
	)
	var asJSON *bool
	c := &cobra.Command{
		Use:   "verify FILE | --store FILE",
		Short: "Check a certificate or a store with the independent checker",
		Long:  long("verify"),
		Args:  cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) == 1 && storeGiven(c) || len(args) == 0 && storeFile == "" {
				return cli.Usagef("give a certificate or --store FILE, one of them")
			}
			ctx, _, stop := cli.Signals(c.Context())
			defer stop()
			options := checker.Options{RulesOnly: rulesOnly, Workers: cores}
			out := verificationJSON{MessageType: "verification"}
			var err error
			if len(args) == 1 {
				out.File = args[0]
				out.Report, err = checker.CheckFile(ctx, args[0], options)
			} else {
				var store campaign.StoreReport
				store, out.Report, err = campaign.VerifyStore(ctx, storeFile, options)
				if store.File != "" {
					out.Store = &store
				}
				for _, c := range store.Campaigns {
					out.Report = cmp.Or(out.Report, c.Checked)
				}
			}
			err = certificateError(err)
			out.Verified = err == nil && out.Report != nil
			return errors.Join(err, writeVerification(c, out, err, *asJSON))
		},
	}
	c.Flags().StringVar(&storeFile, "store", "", "check the store in `FILE` and its certificate")
	c.Flags().BoolVar(&rulesOnly, "rules-only", false, "allow no leaf rule but rule 1: a side without a move loses")
	asJSON = cli.JSONFlag(c)
	coresFlag(c, &cores)
	return c
}

// writeVerification prints what was checked. Of a store with several campaigns each report is part
// of the text of the store.
func writeVerification(c *cobra.Command, v verificationJSON, failure error, asJSON bool) error {
	if failure != nil {
		v.Reason = failure.Error()
		errors.As(failure, &v.Fault)
	}
	text := ""
	if v.Store != nil {
		text = v.Store.String()
	}
	if v.Report != nil && (v.Store == nil || len(v.Store.Campaigns) == 1) {
		text += v.Report.String()
	}
	return cli.Answer(c, asJSON, v, text)
}

// certificateError makes each fault that the checker found in a file a failed verification. A file
// that cannot be read is none.
func certificateError(err error) error {
	if fault := new(checker.Fault); errors.As(err, &fault) {
		return fmt.Errorf("%w: %w", campaign.ErrVerification, err)
	}
	for _, kind := range []error{checker.ErrNotCertificate, checker.ErrUnsupportedVersion, checker.ErrTruncated,
		checker.ErrTrailing, checker.ErrChecksum, checker.ErrHeader, checker.ErrBlock} {
		if errors.Is(err, kind) {
			return fmt.Errorf("%w: %w", campaign.ErrVerification, err)
		}
	}
	return err
}
