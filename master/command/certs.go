package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/credentials"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/identity"
)

// defaultCerts is where an authority is when nothing else is said.
const defaultCerts = "certs"

// masterName is the name in the credential of a master.
const masterName = "master"

// localHosts are in every credential of a master, for workers and operators on its machine.
var localHosts = []string{"localhost", "127.0.0.1", "::1"}

// Lifetimes are given in days, up to a hundred years.
const maxDays = 36500

func certsCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "certs",
		Short: "Make and revoke the credentials of a cluster",
		Long: `certs keeps an authority for one cluster in a folder. "init" makes it, with the master's
credential. "worker" and "operator" make a folder for each worker and operator: hand it
to its machine. "provide" makes all of these for starts without a person. "revoke" ends
a credential; a running master applies it within a second.

Workers join and deliver. Operators need an operator credential for status, explore,
pause, resume, drain, campaign, quarantine and store backup.

` + cli.ExitHelp,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(certsInit(), certsMaster(), certsClient(identity.Worker), certsClient(identity.Operator),
		certsProvide(), certsRevoke(), certsList())
	return c
}

// certsFlags are the flags of all these commands.
type certsFlags struct {
	folder string
	days   int
	asJSON bool
}

func (f *certsFlags) add(c *cobra.Command, lifetime bool) {
	c.Flags().StringVar(&f.folder, "dir", defaultCerts, "keep the authority in `FOLDER`")
	c.Flags().BoolVar(&f.asJSON, "json", false, "answer as JSON, a line for each credential")
	if lifetime {
		c.Flags().IntVar(&f.days, "days", int(credentials.DefaultLifetime/day),
			"make it good for `N` days, at most as long as the authority")
	}
}

const day = 24 * time.Hour

// lifetime turns days into a duration.
func lifetime(flag string, days int) (time.Duration, error) {
	if days < 1 || days > maxDays {
		return 0, cli.Usagef("--%s %d: it must be from 1 to %d", flag, days, maxDays)
	}
	return time.Duration(days) * day, nil
}

func certsInit() *cobra.Command {
	var (
		flags         certsFlags
		hosts         []string
		authorityDays int
	)
	c := &cobra.Command{
		Use:   "init",
		Short: "Make an authority and the credential of its master",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) (err error) {
			all, err := lifetime("ca-days", authorityDays)
			if err != nil {
				return err
			}
			request, err := masterRequest(flags.days, hosts)
			if err != nil {
				return err
			}
			if err := request.Check(); err != nil {
				return err
			}
			a, err := credentials.Init(flags.folder, credentials.Options{Lifetime: all})
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			if err := writeAuthority(c.OutOrStdout(), a, flags); err != nil {
				return err
			}
			return issue(c.OutOrStdout(), a, request, flags)
		},
	}
	flags.add(c, true)
	addHosts(c, &hosts)
	addAuthorityDays(c, &authorityDays)
	return c
}

func addAuthorityDays(c *cobra.Command, days *int) {
	c.Flags().IntVar(days, "ca-days", int(credentials.DefaultAuthorityLifetime/day),
		"make the authority good for `N` days")
}

// writeAuthority says in words where a new authority is.
func writeAuthority(w io.Writer, a *credentials.Authority, flags certsFlags) error {
	if flags.asJSON {
		return nil
	}
	_, err := fmt.Fprintf(w, "authority      %s, good until %s; keep %s secret\n", flags.folder,
		a.NotAfter().UTC().Format(time.DateOnly), credentials.KeyFile)
	return err
}

func addHosts(c *cobra.Command, hosts *[]string) {
	c.Flags().StringArrayVar(hosts, "host", nil, "let others reach the master as `NAME` or IP address; may be repeated")
}

func masterRequest(days int, hosts []string) (credentials.Request, error) {
	d, err := lifetime("days", days)
	return credentials.Request{Identity: identity.Identity{Role: identity.Master, Name: masterName},
		Hosts: append(hosts, localHosts...), Lifetime: d, Renew: true}, err
}

func certsMaster() *cobra.Command {
	var (
		flags certsFlags
		hosts []string
	)
	c := &cobra.Command{
		Use:   "master",
		Short: "Replace the master's credential",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			request, err := masterRequest(flags.days, hosts)
			if err != nil {
				return err
			}
			return withAuthority(flags.folder, func(a *credentials.Authority) error {
				return issue(c.OutOrStdout(), a,
					request, flags)
			})
		},
	}
	flags.add(c, true)
	addHosts(c, &hosts)
	return c
}

func certsClient(role identity.Role) *cobra.Command {
	var (
		flags certsFlags
		renew bool
	)
	c := &cobra.Command{
		Use:   string(role) + " NAME",
		Short: fmt.Sprintf("Make the folder of one %s", role),
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			d, err := lifetime("days", flags.days)
			if err != nil {
				return err
			}
			request := credentials.Request{Identity: identity.Identity{Role: role, Name: args[0]}, Lifetime: d, Renew: renew}
			return withAuthority(flags.folder, func(a *credentials.Authority) error {
				return issue(c.OutOrStdout(), a,
					request, flags)
			})
		},
	}
	flags.add(c, true)
	c.Flags().BoolVar(&renew, "renew", false, "replace the files; the old credential stays good until it expires or is revoked")
	return c
}

func certsRevoke() *cobra.Command {
	var flags certsFlags
	c := &cobra.Command{
		Use:   "revoke NAME|SERIAL",
		Short: "Revoke all credentials of a name, or one by its serial number",
		Args:  cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return withAuthority(flags.folder, func(a *credentials.Authority) error {
				list, err := a.Revoke(args[0])
				if err != nil {
					return err
				}
				return writeRecords(c.OutOrStdout(), list, flags.asJSON)
			})
		},
	}
	flags.add(c, false)
	return c
}

func certsList() *cobra.Command {
	var flags certsFlags
	c := &cobra.Command{
		Use:   "list",
		Short: "List all credentials ever made, and whether they are good",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withAuthority(flags.folder, func(a *credentials.Authority) error {
				list, err := a.List()
				if err != nil {
					return err
				}
				return writeRecords(c.OutOrStdout(), list, flags.asJSON)
			})
		},
	}
	flags.add(c, false)
	return c
}

// withAuthority opens the authority of a folder for as long as do runs.
func withAuthority(folder string, do func(*credentials.Authority) error) error {
	a, err := credentials.Open(folder, credentials.Options{})
	if err != nil {
		return err
	}
	return errors.Join(do(a), a.Close())
}

// issue makes a credential and says where it is.
func issue(w io.Writer, a *credentials.Authority, r credentials.Request, flags certsFlags) error {
	out, err := a.Issue(r)
	if err != nil {
		return err
	}
	return writeIssued(w, out, flags)
}

func writeIssued(w io.Writer, out credentials.Issued, flags certsFlags) error {
	if flags.asJSON {
		return writeRecord(w, out.Record, out.Folder)
	}
	purpose := "the master serves with it"
	if out.Role != identity.Master {
		purpose = fmt.Sprintf("hand it to %v and nobody else", out.Identity)
	}
	_, err := fmt.Fprintf(w, "%sfolder         %s: %s\n", recordLine(out.Record), out.Folder, purpose)
	return err
}

// recordLine is a credential in one line.
func recordLine(r credentials.Record) string {
	s := fmt.Sprintf("%-14s %s, serial number %s, %s", r.Role, r.Name, r.Serial, r.State(time.Now()))
	if len(r.Hosts) > 0 {
		s += ", for " + strings.Join(r.Hosts, " ")
	}
	return s + "\n"
}

func writeRecords(w io.Writer, list []credentials.Record, asJSON bool) error {
	for _, r := range list {
		var err error
		if asJSON {
			err = writeRecord(w, r, "")
		} else {
			_, err = io.WriteString(w, recordLine(r))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// recordJSON is a credential as programs read it. Fields may be added, never renamed.
type recordJSON struct {
	MessageType string     `json:"message_type"` // "certificate"
	Role        string     `json:"role"`
	Name        string     `json:"name"`
	Serial      string     `json:"serial"`
	Hosts       []string   `json:"hosts,omitempty"`
	NotBefore   time.Time  `json:"not_before"`
	NotAfter    time.Time  `json:"not_after"`
	Revoked     *time.Time `json:"revoked,omitempty"`
	Good        bool       `json:"good"` // neither expired nor revoked
	Folder      string     `json:"folder,omitempty"`
}

func writeRecord(w io.Writer, r credentials.Record, folder string) error {
	out := recordJSON{MessageType: "certificate", Role: string(r.Role), Name: r.Name, Serial: r.Serial, Hosts: r.Hosts,
		NotBefore: r.NotBefore.UTC(), NotAfter: r.NotAfter.UTC(), Good: r.Good(time.Now()), Folder: folder}
	if !r.Revoked.IsZero() {
		revoked := r.Revoked.UTC()
		out.Revoked = &revoked
	}
	return json.NewEncoder(w).Encode(out)
}

func certsProvide() *cobra.Command {
	var (
		flags                      certsFlags
		hosts                      []string
		authorityDays              int
		worker, operator, handover string
	)
	c := &cobra.Command{
		Use:   "provide",
		Short: "Make the credentials that a farm lacks, for starts without a person",
		Long: `provide makes an authority, the master's credential, one that all workers share, and one
for an operator. Existing ones stay, unless less than a third of the lifetime is left or
the hosts have changed; then a new credential replaces them. It can run before each
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
					return err
				}
			}
			a, err := credentials.Open(flags.folder, credentials.Options{})
			if errors.Is(err, credentials.ErrMissing) {
				if a, err = credentials.Init(flags.folder, credentials.Options{Lifetime: all}); err == nil {
					err = writeAuthority(c.OutOrStdout(), a, flags)
				}
			}
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, a.Close()) }()
			for _, r := range requests {
				out, err := a.Provide(r)
				if err != nil {
					return err
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
	c.Flags().StringVar(&worker, "worker", "worker", "call the workers `NAME`")
	c.Flags().StringVar(&operator, "operator", "operator", "call the operator `NAME`")
	c.Flags().StringVar(&handover, "worker-folder", "",
		"copy the workers' credential to `FOLDER`, such as a volume of theirs")
	return c
}
