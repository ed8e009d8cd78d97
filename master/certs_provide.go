package main

import (
	"errors"

	"github.com/spf13/cobra"

	"amazonsfarm/master/credentials"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
)

func certsProvide() *cobra.Command {
	var (
		flags                      certsFlags
		hosts                      []string
		authorityDays              int
		worker, operator, handover string
	)
	c := &cobra.Command{
		Use:   "provide",
		Short: "Make what a farm needs and lacks, for starts without a person",
		Long: `provide makes an authority, the certificate of its master, one that all workers share, and one of an operator. What is there stays as it
is, unless less than a third of its lifetime is left or the hosts have changed; then a new certificate comes in its place. So it can run before each
start of a farm, as in docker-compose.yml.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			all, err := lifetime("ca-days", authorityDays)
			if err != nil {
				return err
			}
			master, err := masterRequest(flags.days, hosts)
			if err != nil {
				return err
			}
			requests := []credentials.Request{
				master,
				{Identity: identity.Identity{Role: identity.Worker, Name: worker}, Lifetime: master.Lifetime},
				{Identity: identity.Identity{Role: identity.Operator, Name: operator}, Lifetime: master.Lifetime},
			}
			for _, r := range requests {
				if err := r.Check(); err != nil {
					return certsError(err)
				}
			}
			a, err := credentials.Open(flags.folder, credentials.Options{})
			if errors.Is(err, credentials.ErrMissing) {
				if a, err = credentials.Init(flags.folder, credentials.Options{Lifetime: all}); err == nil {
					err = writeAuthority(c.OutOrStdout(), a, flags)
				}
			}
			if err != nil {
				return certsError(err)
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			for _, r := range requests {
				out, err := a.Provide(r)
				if err != nil {
					return certsError(err)
				}
				if r.Identity.Role == identity.Worker && handover != "" {
					if err := a.HandOver(r.Identity, handover); err != nil {
						return err
					}
					out.Folder = handover
				}
				if err := writeIssued(c.OutOrStdout(), out, flags); err != nil {
					return err
				}
			}
			return nil
		},
	}
	flags.add(c, true)
	addHosts(c, &hosts)
	addAuthorityDays(c, &authorityDays)
	c.Flags().StringVar(&worker, "worker", "worker", "name in the certificate of the workers")
	c.Flags().StringVar(&operator, "operator", "operator", "name in the certificate of the operator")
	c.Flags().StringVar(&handover, "worker-folder", "",
		"copy what workers need to this folder, too, such as a volume of which they see nothing else")
	return c
}
