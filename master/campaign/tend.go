package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/store"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

const (
	// tendEvery is how often a master looks for parts that nothing needs: listing a bucket takes seconds.
	tendEvery = 10 * time.Minute
	// strayAge is how long a part may lie without a record: workers get addresses of a bucket for minutes.
	strayAge = time.Hour
	// unnamedAge is how long a part waits at least for the fact that names it, a multiple of tendEvery. A worker sends
	// the facts when all of their parts are there. That may take hours, on a slow line or while a bucket is away.
	unnamedAge = 24 * time.Hour
	// removedAtOnce is how many parts are removed in one transaction, which reads all facts and wants 8 MiB of room.
	removedAtOnce = 1024
)

// RegisterEvidence registers what this process reads of the bucket of a store; nil: the parts lie in a folder.
func RegisterEvidence(r prometheus.Registerer, bucket evidence.Bucket) {
	r.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{
		Namespace: "amazons", Subsystem: "master", Name: "evidence_read_bytes_total",
		Help: "Bytes of parts that the master has read from its bucket, to check a sample and to write small proofs.",
	}, func() float64 {
		if bucket == nil {
			return 0
		}
		return float64(bucket.ReadBytes())
	}))
}

// heal takes back the facts whose parts are gone, with what rests on them: the farm proves them again.
// Pools in which no answer needs parts any more stay as they are. Where most parts are gone, their place is more
// likely not mounted, or the folder was moved: then nothing is taken back, unless Options.Lost says that they are lost.
func (f *Farm) heal() error {
	missing, _, err := f.store.MissingParts()
	if err != nil || len(missing) == 0 {
		return err
	}
	lost := make(map[proof.ID]bool, len(missing))
	for _, id := range missing {
		lost[id] = true
	}
	// One campaign that needs its parts stands for its pool, since Parts lists the parts of the whole pool.
	done := map[uint32]bool{}
	for _, c := range f.campaigns {
		if c.ended || done[c.about.Pool] || c.needsNoParts() {
			continue
		}
		done[c.about.Pool] = true
		list, err := f.store.Parts(c.about.Number)
		if err != nil {
			return err
		}
		var gone []proof.ID
		kept := 0
		for _, p := range list {
			if lost[p.ID] {
				gone = append(gone, p.ID)
			} else if !p.Dropped {
				kept++
			}
		}
		if len(gone) > kept && !f.options.Lost {
			return fmt.Errorf("%w: %d of %s of campaign %s cannot be found in %s; put back what is missing, or, if it "+
				"is lost, have what it proves forgotten: %s evidence gc --lost --store %s", store.ErrCorrupt, len(gone),
				cli.Counted(len(gone)+kept, "part"), c.about.Name, f.store.Place(), cli.Program("master"),
				cli.Quoted(f.options.StoreFile))
		}
		if len(gone) == 0 {
			continue
		}
		for _, id := range gone {
			f.options.Log.Error("a part is missing or cut short; what it proves is proved again", "part", id.Name())
		}
		// A part that cites a lost one proves nothing by itself any more, so it goes as well.
		all, err := c.resting(context.Background(), gone)
		if err != nil {
			return err
		}
		facts, err := f.store.Retract(all)
		if err != nil {
			return err
		}
		f.healed += len(facts[c.about.Pool])
		f.retracted.Add(c.about.Pool, facts[c.about.Pool], f.began)
		f.options.Log.Warn("facts were taken back", "campaign", c.about.Name, "parts", len(all), "facts",
			len(facts[c.about.Pool]))
	}
	return nil
}

// Tend removes from the evidence store what nothing needs, every tendEvery, until ctx ends. A part without a record, a
// stray, is removed after strayAge, if it came since this master started. Older strays stay: they may be parts that a
// newer copy of the store knows, and "evidence gc" removes them. A part with a record that no fact names is removed
// after unnamedAge: each pass notes which part came last, and removes those that came before the pass that long ago.
// If the part were gone when its facts come, they would be refused, and later parts of an honest worker would cite
// what no part proves.
func (f *Farm) Tend(ctx context.Context) {
	ticker := time.NewTicker(tendEvery)
	defer ticker.Stop()
	var last []uint64 // the part that came last before each pass, the oldest first: what came since may be named yet
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		upTo := uint64(0)
		if len(last) == int(unnamedAge/tendEvery) {
			upTo, last = last[0], last[1:]
		}
		c, err := collect(f.store, upTo, f.began, time.Now().Add(-strayAge), func(ids []proof.ID) ([]proof.ID, error) {
			return loop.Between(ctx, f.Loop, func() ([]proof.ID, error) { return f.store.RemoveParts(ids) })
		})
		if last = append(last, c.last); err != nil {
			f.options.Log.Warn("parts that nothing needs stay for now", "error", err)
		} else if c.Parts+c.Strays > 0 {
			f.options.Log.Info("parts that nothing needs were removed", "parts", c.Parts, "strays", c.Strays, "bytes",
				c.Bytes)
		}
	}
}

// Collection says what a pass removed, also to programs. Fields may be added, never renamed.
type Collection struct {
	MessageType string `json:"message_type"` // "evidence_collection"
	Store       string `json:"store"`
	Place       string `json:"place"`  // of the parts
	Parts       int    `json:"parts"`  // that no fact named
	Strays      int    `json:"strays"` // that the store did not know
	Bytes       int64  `json:"bytes"`  // of both
	Facts       int    `json:"facts"`  // that were forgotten with --lost, since their parts are gone
	last        uint64
}

// own returns an error that wraps store.ErrCorrupt where the parts of a store are those of another one.
func own(file string) error {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return err
	}
	return errors.Join(s.OwnsParts(), s.Close())
}

// Collect removes the parts that nothing needs from the evidence of a store that no master has open:
// those that no fact names, and those that the store does not know. Unknown parts that came later than a minute after
// the store was last written stay: this may be an older copy of the store, and the newer one needs them. With lost, it
// first takes back the facts whose parts are gone. Errors: those of opening a store, store.ErrCorrupt where all parts
// are another store's, cli.ErrUsage for a folder that is a link and for a store that was replaced; with lost those
// of Open.
func Collect(file string, lost bool) (c Collection, err error) {
	if store.Replaced(file) {
		return c, cli.Usagef("%s was replaced by a compaction, and its parts belong to the newer store; collect there",
			file)
	}
	// A copy of a store is made for reading, with a link to the parts of the original. It does not know newer parts.
	if info, err := os.Lstat(store.EvidenceFolder(file)); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return c, cli.Usagef("%s is a link, so the parts in it belong to another store; collect that one",
			store.EvidenceFolder(file))
	}
	// Nothing is taken back and removed where the folder is another store's, or the parts are somewhere else.
	if err := own(file); err != nil {
		return c, err
	}
	info, err := os.Stat(file)
	if err != nil {
		return c, err
	}
	forgotten := 0
	if lost {
		f, err := Open(Options{StoreFile: file, Lost: true})
		if err == nil {
			forgotten, err = f.healed, f.Close()
		}
		if err != nil {
			return c, err
		}
	}
	s, err := store.Open(file, store.Options{})
	if err != nil {
		return c, err
	}
	// No master runs, so no fact is on its way: no number spares a part.
	c, err = collect(s, 1<<63, time.Time{}, info.ModTime().Add(time.Minute), s.RemoveParts)
	c.MessageType, c.Store, c.Place, c.Facts = "evidence_collection", file, s.Place(), forgotten
	// What this pass wrote makes the store no newer.
	return c, errors.Join(err, s.Close(), os.Chtimes(file, time.Time{}, info.ModTime()))
}

// collect removes parts that came up to a number and that no fact names, and strays that came
// between two times. The number leaves alone what just arrived: the fact that names a part is committed
// after the part, so a fresh part without a fact is most likely one whose fact is on its way.
// remove is RemoveParts of the store, at a moment when no fact waits for its commit.
func collect(s *store.Store, upTo uint64, since, before time.Time,
	remove func([]proof.ID) ([]proof.ID, error)) (c Collection, err error) {
	unneeded := map[proof.ID]int64{}
	for _, about := range s.Campaigns() {
		// A pool has the number of its first campaign, so this lists the parts of each pool once.
		if about.Pool != about.Number {
			continue
		}
		list, err := s.Parts(about.Number)
		if err != nil {
			return c, err
		}
		for _, p := range list {
			c.last = max(c.last, p.Number)
			if p.Number <= upTo {
				unneeded[p.ID] = p.Bytes
			}
		}
	}
	if err := s.EachFact(func(_ uint32, f proof.Fact) { delete(unneeded, f.Certificate) }); err != nil {
		return c, err
	}
	for ids := range slices.Chunk(slices.Collect(maps.Keys(unneeded)), removedAtOnce) {
		removed, failed := remove(ids)
		err = cmp.Or(err, failed)
		for _, id := range removed {
			c.Parts, c.Bytes = c.Parts+1, c.Bytes+unneeded[id]
		}
	}
	strays, bytes, failed := s.Collect(since, before)
	c.Strays, c.Bytes = strays, c.Bytes+bytes
	return c, cmp.Or(err, failed)
}
