// Package campaign puts campaigns together: their store, their trees, the services around them, and
// what is done when a tree is settled: the certificate is assembled, written, checked by the
// independent checker, and the answer is stored.
//
// # From open to close
//
// [Open] is the way from a file to a farm that can run, in this order:
//
//   - The store is opened, or made where there is none and the options name a question.
//   - The store must have that question. A farm never answers another one than it was asked.
//   - The whole file of the store is checked (store.CheckFile). A store that existed may be
//     damaged.
//   - Facts whose parts are gone are taken back (heal). The farm then proves them again.
//   - Each campaign gets its tree from the records of the store (grow).
//   - The loop and the settings of the services are put around the trees.
//
// Then the caller runs the loop: behind a listener in "master serve", or with workers of the same
// process ([Farm.RunEmbedded]) in "master solve". The loop calls back into this package through the
// functions in loop.About and through the keeper:
//
//   - ReadRoots and ReadOutline say what an uploaded part claims (conclude.go).
//   - Look answers readers of the pages from parts (evidence.go).
//   - Try, Recheck, Resting and Suspects serve the case that a part turns out to be false (parts.go).
//   - Conclude makes the proof of a settled tree and has it checked (conclude.go, parts.go).
//
// # Conclusion
//
// A settled tree says who wins and names the facts that it rests on. Three steps make a proof of
// it:
//
//   - gather collects the parts that the roots need, through their citations. It adds one more part
//     for the positions that the master expanded itself.
//   - packs chooses the form. A small proof becomes one file, which the checker here goes over. A
//     large one stays in parts with a manifest, and workers check the parts.
//   - The proof is written under the name NAME.proof.unverified. Only the checker's verdict gives
//     it the name NAME.proof. So a file of that name was accepted at least once.
//
// Where the checker refuses, blame finds the false parts. They are taken back with all facts that
// rest on them, and the campaign goes on as if they had never come.
package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/checks"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
)

// ErrVerification is wrapped by every error about a certificate that the checker refuses, or that
// cannot be made whole.
var ErrVerification = errors.New("verification failed")

// Options say which campaign Open opens, where its files are, and the settings of its parts. Zero stands for the
// default where one is named.
type Options struct {
	Root       amazons.Position // of a campaign that the store has to have, among others. Zero: whatever the store has
	FirstMoves []amazons.Move   // when given, only these are tried; sorted, each once
	RulesOnly  bool             // the certificate may use leaf rule 1 alone
	Name       string           // of the campaign, where the store is made. Default: the name of its board
	StoreFile  string           // made if it is not there and there is a Root
	// of the certificate of the first campaign. Default: StoreFile with the ending .proof; see
	// ProofFileOf for the others. It is written last, perhaps after months, so callers check
	// before that it can be written
	ProofFile string
	// Embedded says that all workers are of this process. Then no part is checked before the answer
	// is, and the checker of this machine goes over the whole proof. A store with several campaigns is refused.
	Embedded bool
	// Lost takes back the facts of missing parts, even if most parts are missing.
	Lost bool
	// CheckWorkers is the number of goroutines of the checker. Default: one a core.
	CheckWorkers int

	// Store has the settings of the store, and Services those of the services. Open fills in where the parts are.
	Store    store.Options
	Services rpc.Config
	// Loop has the settings of the loop. Open fills in StoreFile, Campaigns, Retracted, Metrics and Log.
	Loop loop.Config
	// Tree has the settings of each campaign's tree; Open fills in the question. Options.tree says what depends on the
	// heartbeat.
	Tree tree.Config
	// Results is the number of results that the master can handle in a second. Open makes Tree.ResultsPerTick of it.
	// Default 2,000.
	Results int

	Registerer prometheus.Registerer // default: nobody reads the metrics
	Log        *slog.Logger          // default: discards
}

// Farm is an open store with its campaigns.
// Operators add and end campaigns while the loop runs, so mu guards the list, and in each campaign
// whether it has ended. Open alone reads the list without it, before anything runs.
type Farm struct {
	Loop     *loop.Loop
	Services rpc.Config // of the server around the loop
	// Created says that the store was made now; otherwise the campaigns go on from it.
	Created bool

	options Options
	store   *store.Store
	metrics *loop.Metrics
	began   time.Time
	// retracted has the claims that were taken back before the loop runs, and the loop adds to it.
	retracted *checks.Retracted
	healed    int // facts that were taken back at the start, since their parts are gone

	mu        sync.Mutex
	campaigns []*campaign // by number
}

// ProofFile returns where the certificate of a store's first campaign goes when nobody says otherwise.
func ProofFile(storeFile string) string {
	return strings.TrimSuffix(storeFile, filepath.Ext(storeFile)) + ".proof"
}

// ProofFileOf returns where the certificate of a campaign of the store goes when nobody says otherwise.
func ProofFileOf(storeFile string, about store.Campaign) string {
	if about.Number == 1 {
		return ProofFile(storeFile)
	}
	return strings.TrimSuffix(storeFile, filepath.Ext(storeFile)) + "-" + about.Name + ".proof"
}

// Open opens the campaigns' store, or makes it, and restores their trees. Nothing is searched
// before Loop.Run. Errors: those of the store (ErrCampaign where it does not have the campaign
// asked for), of the trees, of the file system.
func Open(o Options) (_ *Farm, err error) {
	o.ProofFile = cmp.Or(o.ProofFile, ProofFile(o.StoreFile))
	o.Registerer = cmp.Or[prometheus.Registerer](o.Registerer, prometheus.NewRegistry())
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	f := &Farm{options: o, began: time.Now(), retracted: checks.NewRetracted()}
	var asked store.Campaign
	given := o.Root.Board.Valid()
	if given {
		asked = aboutOf(loop.Asked{Name: o.Name, Root: o.Root, FirstMoves: o.FirstMoves, RulesOnly: o.RulesOnly},
			o.Services.Build)
	}
	// With workers of this process the checker here reads every part, so all of them must lie on this
	// machine.
	embedded := cli.Usagef("parts in a bucket and evidence: digest are for \"master serve\"; leave them out, or " +
		"serve this store")
	if o.Embedded && (o.Store.Digest || strings.HasPrefix(o.Store.Evidence, evidence.Scheme)) {
		return nil, embedded
	}
	// A store that is there is gone on with. It is made only where there is none and the options
	// say what to ask: "master serve" without a board must never begin an empty campaign by a slip
	// in a path.
	s, err := store.Open(o.StoreFile, o.Store)
	if errors.Is(err, store.ErrMissing) && given {
		if err := mayReplace(o.ProofFile, o.Root, o.FirstMoves, false); err != nil {
			return nil, cli.Usagef("%w, or name another place with --proof", err)
		}
		s, err = store.Create(o.StoreFile, asked, o.Store)
		f.Created = err == nil
	}
	if err != nil {
		return nil, err
	}
	f.store = s
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	all := s.Campaigns()
	if given {
		if err := has(all, asked, o.Name); err != nil {
			return nil, err
		}
	}
	// Every record is read before the trees are made. Damage that is found later would stop the
	// farm in the middle of its work, and by then more might rest on it.
	if !f.Created {
		began := time.Now()
		if err := s.CheckFile(context.Background()); err != nil {
			return nil, err
		}
		o.Log.Info("the store was checked", "seconds", time.Since(began).Seconds())
	}
	if o.Embedded && s.Bucket() != nil {
		return nil, embedded
	}
	if o.Embedded && len(all) > 1 {
		return nil, fmt.Errorf("%w: the store has %d campaigns; go on with \"master serve\", or take another store",
			store.ErrCampaign, len(all))
	}
	f.metrics = loop.NewMetrics(o.Registerer)
	RegisterDisk(o.Registerer, o.StoreFile, s.Place())
	RegisterEvidence(o.Registerer, s.Bucket())
	for _, about := range all {
		if c, err := f.add(about); err != nil {
			return nil, err
		} else if err := c.mayReplace(); err != nil && about.Number == 1 {
			return nil, cli.Usagef("%w, or name another place with --proof", err)
		} else if err != nil {
			return nil, cli.Usagef("%w", err)
		}
	}
	if err := f.heal(); err != nil {
		return nil, err
	}
	// Facts were healed above, so the trees grow from what the store can still show.
	var campaigns []loop.Campaign
	for _, c := range f.campaigns {
		grown, err := f.grow(c)
		if err != nil {
			return nil, err
		}
		campaigns = append(campaigns, grown)
	}
	f.Services = o.Services
	settings := o.Loop
	settings.StoreFile, settings.Campaigns, settings.Retracted = o.StoreFile, keeper{f}, f.retracted
	settings.Metrics, settings.Log = f.metrics, o.Log
	if f.Loop, err = loop.New(settings, campaigns, s); err != nil {
		return nil, err
	}
	return f, nil
}

// has returns nil if one of the campaigns is the one that was asked for, under its name if one was given, otherwise an
// error that wraps store.ErrCampaign.
// With one campaign the error says what differs. With several there is no single difference to tell.
func has(all []store.Campaign, asked store.Campaign, name string) error {
	var err error
	for _, c := range all {
		if err = c.Same(asked); err == nil && name != "" && name != c.Name {
			return fmt.Errorf("%w: the campaign of the store that asks this has the name %s, not %s; leave out --name",
				store.ErrCampaign, c.Name, name)
		} else if err == nil {
			return nil
		}
	}
	if len(all) > 1 {
		err = fmt.Errorf("%w: none of the %d campaigns of the store asks this; leave the board out to go on with "+
			"them, and add it with \"master campaign add\"", store.ErrCampaign, len(all))
	}
	return err
}

// Close closes the store. Loop.Run has returned before, or was never called.
func (f *Farm) Close() error { return f.store.Close() }
