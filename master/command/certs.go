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

// masterName is the name in the credential of a master.
const masterName = "master"

// localHosts are in every credential of a master, for workers and operators on its machine.
var localHosts = []string{"localhost", "127.0.0.1", "::1"}

// Lifetimes are given in days, up to a hundred years.
const day, maxDays = 24 * time.Hour, 36500

// certsCommand looks after the authority of a cluster: a folder, on the machine of an operator.
func certsCommand() *cobra.Command {
	return group("certs", "Make and revoke the credentials of a cluster", certsInit(), certsMaster(),
		certsClient(identity.Worker), certsClient(identity.Operator), certsProvide(), certsRevoke(), certsList())
}

// certsFlags are the flags of these commands; each defines those that it needs.
type certsFlags struct {
	folder              string
	days, authorityDays int
	hosts               []string
	asJSON              bool
}

// add defines what every command has: where the authority is, and how to answer.
func (f *certsFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.folder, "dir", "certs", "keep the authority in `FOLDER`")
	c.Flags().BoolVar(&f.asJSON, "json", false, "answer as JSON, a line for each credential")
}

// addLifetime is for commands that make credentials.
func (f *certsFlags) addLifetime(c *cobra.Command) {
	c.Flags().IntVar(&f.days, "days", int(credentials.DefaultLifetime/day),
		"make it good for `N` days, at most as long as the authority")
}

// addMaster is for commands that make the credential of a master.
func (f *certsFlags) addMaster(c *cobra.Command) {
	f.addLifetime(c)
	c.Flags().StringArrayVar(&f.hosts, "host", nil,
		"let others reach the master as `NAME` or IP address; may be repeated")
}

// addAuthority is for commands that make an authority.
func (f *certsFlags) addAuthority(c *cobra.Command) {
	c.Flags().IntVar(&f.authorityDays, "ca-days", int(credentials.DefaultAuthorityLifetime/day),
		"make the authority good for `N` days")
}

// lifetime turns days into a duration.
func lifetime(flag string, days int) (time.Duration, error) {
	if days < 1 || days > maxDays {
		return 0, cli.Usagef("--%s %d: it must be from 1 to %d", flag, days, maxDays)
	}
	return time.Duration(days) * day, nil
}

// request asks for a credential; only a master has hosts.
func (f *certsFlags) request(role identity.Role, name string, renew bool) (credentials.Request, error) {
	d, err := lifetime("days", f.days)
	r := credentials.Request{Identity: identity.Identity{Role: role, Name: name}, Lifetime: d, Renew: renew}
	if role == identity.Master {
		r.Hosts = append(f.hosts, localHosts...)
	}
	return r, errors.Join(err, r.Check())
}

// init makes an authority and says where it is.
func (f *certsFlags) init(w io.Writer) (*credentials.Authority, error) {
	d, err := lifetime("ca-days", f.authorityDays)
	if err != nil {
		return nil, err
	}
	a, err := credentials.Init(f.folder, credentials.Options{Lifetime: d})
	if err != nil || f.asJSON {
		return a, err
	}
	_, err = fmt.Fprintf(w, "authority      %s, good until %s; keep %s secret\n", f.folder,
		a.NotAfter().UTC().Format(time.DateOnly), credentials.KeyFile)
	return a, err
}

// with opens the authority for as long as do runs, and prints the credentials that do returns.
func (f *certsFlags) with(w io.Writer, do func(*credentials.Authority) ([]credentials.Issued, error)) error {
	a, err := credentials.Open(f.folder, credentials.Options{})
	if err != nil {
		return err
	}
	return f.print(w, a, do)
}

// print prints the credentials that do returns, and closes the authority.
func (f *certsFlags) print(w io.Writer, a *credentials.Authority,
	do func(*credentials.Authority) ([]credentials.Issued, error)) error {
	list, err := do(a)
	err = errors.Join(err, a.Close())
	for _, r := range list {
		err = errors.Join(err, f.write(w, r))
	}
	return err
}

// write prints one credential, and where it is if it was made now.
func (f *certsFlags) write(w io.Writer, r credentials.Issued) error {
	if f.asJSON {
		return writeRecord(w, r.Record, r.Folder)
	}
	s := fmt.Sprintf("%-14s %s, serial number %s, %s", r.Role, r.Name, r.Serial, r.State(time.Now()))
	if len(r.Hosts) > 0 {
		s += ", for " + strings.Join(r.Hosts, " ")
	}
	switch {
	case r.Folder == "":
	case r.Role == identity.Master:
		s += fmt.Sprintf("\nfolder         %s: the master serves with it", r.Folder)
	default:
		s += fmt.Sprintf("\nfolder         %s: hand it to %v and nobody else", r.Folder, r.Identity)
	}
	_, err := fmt.Fprintln(w, s)
	return err
}

// issue makes one credential.
func issue(r credentials.Request) func(*credentials.Authority) ([]credentials.Issued, error) {
	return func(a *credentials.Authority) ([]credentials.Issued, error) {
		out, err := a.Issue(r)
		if err != nil {
			return nil, err
		}
		return []credentials.Issued{out}, nil
	}
}

// certsInit checks the request before it makes anything, so that a wrong host leaves no authority.
func certsInit() *cobra.Command {
	var f certsFlags
	c := &cobra.Command{
		Use:   "init",
		Short: "Make an authority and the credential of its master",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			request, err := f.request(identity.Master, masterName, true)
			if err != nil {
				return err
			}
			a, err := f.init(c.OutOrStdout())
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), a, issue(request))
		},
	}
	f.add(c)
	f.addMaster(c)
	f.addAuthority(c)
	return c
}

// certsMaster renews the credential of a master, for other hosts or a new lifetime. A running master
// reads the new file within a second.
func certsMaster() *cobra.Command {
	var f certsFlags
	renew := true
	c := f.issuing(identity.Master, "Replace the master's credential", &renew)
	f.addMaster(c)
	return c
}

// certsClient makes the folder of a worker or an operator, with all that its machine needs: the key,
// the credential and the authority to trust.
func certsClient(role identity.Role) *cobra.Command {
	var f certsFlags
	var renew bool
	c := f.issuing(role, fmt.Sprintf("Make the folder of one %s", role), &renew)
	f.addLifetime(c)
	c.Flags().BoolVar(&renew, "renew", false,
		"replace the files; the old credential stays good until it expires or is revoked")
	return c
}

// issuing is a command that makes one credential, of a name unless it is the master's.
func (f *certsFlags) issuing(role identity.Role, short string, renew *bool) *cobra.Command {
	c := &cobra.Command{Use: string(role) + " NAME", Short: short, Args: cobra.ExactArgs(1)}
	if role == identity.Master {
		c.Use, c.Args = string(role), cobra.NoArgs
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		request, err := f.request(role, append(args, masterName)[0], *renew)
		if err != nil {
			return err
		}
		return f.with(c.OutOrStdout(), issue(request))
	}
	f.add(c)
	return c
}

// certsRevoke writes the list of revoked credentials again; a running master reads the list.
func certsRevoke() *cobra.Command {
	return certsRecords(&cobra.Command{
		Use:   "revoke NAME|SERIAL",
		Short: "Revoke all credentials of a name, or one by its serial number",
		Args:  cobra.ExactArgs(1),
	}, func(a *credentials.Authority, args []string) ([]credentials.Record, error) { return a.Revoke(args[0]) })
}

// certsList shows credentials in the order in which they were made.
func certsList() *cobra.Command {
	return certsRecords(&cobra.Command{
		Use:   "list",
		Short: "List all credentials ever made, and whether they are good",
		Args:  cobra.NoArgs,
	}, func(a *credentials.Authority, _ []string) ([]credentials.Record, error) { return a.List() })
}

// certsRecords makes a command print records of credentials that exist.
func certsRecords(c *cobra.Command, do func(*credentials.Authority, []string) ([]credentials.Record,
	error)) *cobra.Command {
	var f certsFlags
	c.RunE = func(c *cobra.Command, args []string) error {
		return f.with(c.OutOrStdout(), func(a *credentials.Authority) ([]credentials.Issued, error) {
			list, err := do(a, args)
			out := make([]credentials.Issued, len(list))
			for i, r := range list {
				out[i].Record = r
			}
			return out, err
		})
	}
	f.add(c)
	return c
}

// certsProvide is init, worker and operator in one, for starts without a person. It may run again:
// what is good stays.
func certsProvide() *cobra.Command {
	var f certsFlags
	var worker, operator, handover string
	c := &cobra.Command{
		Use:   "provide",
		Short: "Make the credentials that a farm lacks, for starts without a person",
		Long:  long("certs-provide"),
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var requests []credentials.Request
			for _, x := range []identity.Identity{{Role: identity.Master, Name: masterName},
				{Role: identity.Worker, Name: worker}, {Role: identity.Operator, Name: operator}} {
				r, err := f.request(x.Role, x.Name, x.Role == identity.Master)
				if err != nil {
					return err
				}
				requests = append(requests, r)
			}
			a, err := credentials.Open(f.folder, credentials.Options{})
			if errors.Is(err, credentials.ErrMissing) {
				a, err = f.init(c.OutOrStdout())
			}
			if err != nil {
				return err
			}
			return f.print(c.OutOrStdout(), a, func(a *credentials.Authority) ([]credentials.Issued, error) {
				return provide(a, requests, handover)
			})
		},
	}
	f.add(c)
	f.addMaster(c)
	f.addAuthority(c)
	c.Flags().StringVar(&worker, "worker", "worker", "call the workers `NAME`")
	c.Flags().StringVar(&operator, "operator", "operator", "call the operator `NAME`")
	c.Flags().StringVar(&handover, "worker-folder", "",
		"copy the workers' credential to `FOLDER`, such as a volume of theirs")
	return c
}

// provide makes the credentials that are missing and copies the worker's to a folder, if one is given.
func provide(a *credentials.Authority, requests []credentials.Request, handover string) (list []credentials.Issued,
	err error) {
	for _, r := range requests {
		out, err := a.Provide(r)
		if err != nil {
			return list, err
		}
		if r.Identity.Role == identity.Worker && handover != "" {
			if err := a.HandOver(r.Identity, handover); err != nil {
				return list, err
			}
			out.Folder = handover
		}
		list = append(list, out)
	}
	return list, nil
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

// writeRecord prints a credential for programs; folder is empty for one that was not made now.
func writeRecord(w io.Writer, r credentials.Record, folder string) error {
	out := recordJSON{MessageType: "certificate", Role: string(r.Role), Name: r.Name, Serial: r.Serial, Hosts: r.Hosts,
		NotBefore: r.NotBefore.UTC(), NotAfter: r.NotAfter.UTC(), Good: r.Good(time.Now()), Folder: folder}
	if !r.Revoked.IsZero() {
		revoked := r.Revoked.UTC()
		out.Revoked = &revoked
	}
	return json.NewEncoder(w).Encode(out)
}
