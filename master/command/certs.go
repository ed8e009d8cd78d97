package command

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
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
	return group("certs", "Make and revoke the credentials of a cluster",
		certsOwn("init", "Make an authority and the credential of its master", (*certsFlags).init,
			(*certsFlags).addAuthority),
		certsOwn("master", "Replace the master's credential", (*certsFlags).open, (*certsFlags).addMaster),
		certsClient(identity.Worker), certsClient(identity.Operator), certsProvide(),
		certsRecords(&cobra.Command{
			Use:   "revoke NAME|SERIAL",
			Short: "Revoke all credentials of a name, or one by its serial number",
			Args:  cobra.ExactArgs(1),
		}, func(a *credentials.Authority, args []string) ([]credentials.Record, error) { return a.Revoke(args[0]) }),
		certsRecords(&cobra.Command{
			Use:   "list",
			Short: "List all credentials ever made, and whether they are good",
			Args:  cobra.NoArgs,
		}, func(a *credentials.Authority, _ []string) ([]credentials.Record, error) { return a.List() }))
}

// certsFlags are the flags of these commands; each defines those that it needs.
type certsFlags struct {
	folder              string
	days, authorityDays int
	hosts               []string
	renew               bool // replaces a credential that is there
	asJSON              bool
	out                 io.Writer
}

// command defines what every command has: where the authority is, and how to answer. do returns the
// credentials to print; with an error, those that were made before it.
func (f *certsFlags) command(c *cobra.Command, do func(args []string) ([]credentials.Issued, error)) *cobra.Command {
	c.Flags().StringVar(&f.folder, "dir", "certs", "keep the authority in `FOLDER`")
	c.Flags().BoolVar(&f.asJSON, "json", false, "answer as JSON, a line for each credential")
	c.RunE = func(c *cobra.Command, args []string) error {
		f.out = c.OutOrStdout()
		list, err := do(args)
		for _, r := range list {
			if bad := f.print(r); bad != nil { // the others would fail alike
				return errors.Join(err, bad)
			}
		}
		return err
	}
	return c
}

// addLifetime is for commands that make credentials.
func (f *certsFlags) addLifetime(c *cobra.Command) {
	cli.Ranged(c.Flags(), c.Flags().IntVar, "days", &f.days, int(credentials.DefaultLifetime/day), 1, maxDays,
		"make it good for `N` days, at most as long as the authority")
}

// addMaster is for commands that make the credential of a master.
func (f *certsFlags) addMaster(c *cobra.Command) {
	f.addLifetime(c)
	c.Flags().StringArrayVar(&f.hosts, "host", nil,
		"let others reach the master as `NAME` or IP address; may be repeated (default: as before, or none)")
}

// addAuthority is for commands that make an authority.
func (f *certsFlags) addAuthority(c *cobra.Command) {
	f.addMaster(c)
	cli.Ranged(c.Flags(), c.Flags().IntVar, "ca-days", &f.authorityDays, int(credentials.DefaultAuthorityLifetime/day),
		1, maxDays, "make the authority good for `N` days")
}

// request asks for a credential; only a master has hosts, by default those that it has.
func (f *certsFlags) request(role identity.Role, name string) (credentials.Request, error) {
	r := credentials.Request{Identity: identity.Identity{Role: role, Name: name}, Renew: f.renew,
		Lifetime: time.Duration(f.days) * day}
	if role == identity.Master {
		given := slices.DeleteFunc(f.hosts, func(host string) bool { return slices.Contains(localHosts, host) })
		r.Hosts = append(given, localHosts...)
		if old := credentials.Hosts(f.folder); len(f.hosts) == 0 && old != nil {
			r.Hosts = old
		}
	}
	return r, r.Check()
}

// init makes an authority and says where it is.
func (f *certsFlags) init() (*credentials.Authority, error) {
	a, err := credentials.Init(f.folder, credentials.Options{Lifetime: time.Duration(f.authorityDays) * day})
	if err == nil && !f.asJSON {
		fmt.Fprintf(f.out, "authority      %s, good until %s; keep %s secret\n", f.folder,
			a.NotAfter().UTC().Format(time.DateOnly), credentials.KeyFile)
	}
	return a, err
}

// issue makes one credential with an authority that open returns: a new one, or the one that is there.
// The request is checked first, so that a wrong name or host leaves nothing behind.
func (f *certsFlags) issue(role identity.Role, name string, open func() (*credentials.Authority, error)) (
	[]credentials.Issued, error) {
	r, err := f.request(role, name)
	if err != nil {
		return nil, err
	}
	a, err := open()
	if err != nil {
		return nil, err
	}
	defer a.Close()
	out, err := a.Issue(r)
	if err != nil {
		return nil, err
	}
	return []credentials.Issued{out}, nil
}

// open opens the authority that is there.
func (f *certsFlags) open() (*credentials.Authority, error) {
	return credentials.Open(f.folder, credentials.Options{})
}

// credentialJSON is a credential as programs read it. Fields may be added, never renamed.
type credentialJSON struct {
	MessageType string `json:"message_type"` // "certificate"
	credentials.Issued
	Good bool `json:"good"` // neither expired nor revoked
}

// print prints one credential, and where it is if it was made now.
func (f *certsFlags) print(r credentials.Issued) error {
	if f.asJSON {
		return json.NewEncoder(f.out).Encode(credentialJSON{"certificate", r, r.Good(time.Now())})
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
	_, err := fmt.Fprintln(f.out, s)
	return err
}

// certsOwn makes the credential of the master with the authority that open returns, which the command may make. The
// request is checked before anything is made, so that a wrong host leaves no authority. A running master reads a new
// file within a second.
func certsOwn(use, short string, open func(*certsFlags) (*credentials.Authority, error),
	add func(*certsFlags, *cobra.Command)) *cobra.Command {
	f := &certsFlags{renew: true}
	c := f.command(&cobra.Command{Use: use, Short: short, Args: cobra.NoArgs},
		func([]string) ([]credentials.Issued, error) {
			return f.issue(identity.Master, masterName, func() (*credentials.Authority, error) { return open(f) })
		})
	add(f, c)
	return c
}

// certsClient makes the folder of a worker or an operator, with all that its machine needs: the key,
// the credential and the authority to trust.
func certsClient(role identity.Role) *cobra.Command {
	var f certsFlags
	c := f.command(&cobra.Command{
		Use:   string(role) + " NAME",
		Short: fmt.Sprintf("Make the folder of one %s", role),
		Args:  cobra.ExactArgs(1),
	}, func(args []string) ([]credentials.Issued, error) { return f.issue(role, args[0], f.open) })
	f.addLifetime(c)
	c.Flags().BoolVar(&f.renew, "renew", false,
		"replace the files; the old credential stays good until it expires or is revoked")
	return c
}

// certsRecords makes a command print records of credentials that exist, in the order in which they
// were made. Revoking writes the list of revoked credentials again; a running master reads the list.
func certsRecords(c *cobra.Command,
	do func(*credentials.Authority, []string) ([]credentials.Record, error)) *cobra.Command {
	var f certsFlags
	return f.command(c, func(args []string) ([]credentials.Issued, error) {
		a, err := f.open()
		if err != nil {
			return nil, err
		}
		defer a.Close()
		list, err := do(a, args)
		out := make([]credentials.Issued, len(list))
		for i, r := range list {
			out[i].Record = r
		}
		return out, err
	})
}

// certsProvide is init, worker and operator in one, for starts without a person. It may run again:
// what is good stays.
func certsProvide() *cobra.Command {
	var f certsFlags
	var worker, operator, handover string
	c := f.command(&cobra.Command{
		Use:   "provide",
		Short: "Make the credentials that a farm lacks, for starts without a person",
		Long:  help.Long("certs-provide"),
		Args:  cobra.NoArgs,
	}, func([]string) (list []credentials.Issued, err error) {
		// All requests are checked before the authority is made, so a wrong name leaves nothing behind.
		var requests []credentials.Request
		for _, x := range []identity.Identity{{Role: identity.Master, Name: masterName},
			{Role: identity.Worker, Name: worker}, {Role: identity.Operator, Name: operator}} {
			r, err := f.request(x.Role, x.Name)
			if err != nil {
				return nil, err
			}
			requests = append(requests, r)
		}
		a, err := f.open()
		if errors.Is(err, credentials.ErrMissing) {
			a, err = f.init()
		}
		if err != nil {
			return nil, err
		}
		defer a.Close()
		for _, r := range requests {
			out, err := a.Provide(r)
			if err == nil && r.Identity.Role == identity.Worker && handover != "" {
				out.Folder, err = handover, a.HandOver(r.Identity, handover)
			}
			if err != nil {
				return list, err
			}
			list = append(list, out)
		}
		return list, nil
	})
	f.addAuthority(c)
	c.Flags().StringVar(&worker, "worker", "worker", "call the workers `NAME`")
	c.Flags().StringVar(&operator, "operator", "operator", "call the operator `NAME`")
	c.Flags().StringVar(&handover, "worker-folder", "",
		"copy the workers' credential to `FOLDER`, such as a volume of theirs")
	return c
}
