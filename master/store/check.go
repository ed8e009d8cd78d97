package store

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"slices"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// findings is the number of findings that Check names.
const findings = 20

// Check verifies the whole store and returns nil, or an error that matches ErrCorrupt and names the
// first findings. It reads every byte of the file; commits go on meanwhile. See Store.findings.
func (s *Store) Check() error {
	var list []error
	more := 0
	for err := range s.findings(context.Background(), nil, true) {
		if len(list) < findings {
			list = append(list, err)
		} else {
			more++
		}
	}
	if more > 0 {
		list = append(list, fmt.Errorf("and %d more", more))
	}
	if len(list) == 0 {
		return nil
	}
	return fmt.Errorf("check proof store: %w", errors.Join(list...))
}

// CheckFile returns the first finding in the file of the store, nil if there is none. It reads no part.
func (s *Store) CheckFile(ctx context.Context) error {
	for err := range s.findings(ctx, nil, false) {
		return fmt.Errorf("check proof store: %w; see \"master store check\"", err)
	}
	return nil
}

// findings verifies the whole store as of one moment and yields each damage as a
// *record.CorruptError. If the check cannot go on, it yields an error of another kind. It verifies,
// in this order:
//
//   - the page structure of the file: each page is used once or free;
//   - every record decodes, and its position is on the board of its campaign;
//   - the certificate of every fact is complete and for the fact's pool;
//   - the part of every certificate is there and has its SHA-256, and nothing else is among them;
//   - the counters agree with the records.
//
// Commits go on meanwhile. No page of the checked moment is reused, so the file grows. The consumer
// may read from the store but not write to it.
// Without parts it leaves them out, and verifies the file of the store alone.
func (s *Store) findings(ctx context.Context, progress Progress, parts bool) iter.Seq[error] {
	return func(yield func(error) bool) {
		// The consumer's code never runs inside guard: its panics are not ours.
		c := &checker{s: s, ctx: ctx, progress: progress, alone: !parts}
		defer func() { // until then bbolt keeps all pages of the moment that is checked
			if c.tx != nil {
				c.tx.Rollback()
			}
		}()
		// Each step relies on those before it: pages that hold together, campaigns that are known,
		// a catalogue of parts for the facts. A damaged step does not stop the next, except for
		// pages, below which nothing can be reached safely.
		for _, part := range []func() error{c.pages, c.meta, c.nodes, c.certificates, c.facts, c.hints, c.contents,
			c.totals} {
			err := guard(part)
			if err != nil {
				c.found = append(c.found, err)
			}
			for _, f := range c.found {
				s.place(f)
				if !yield(f) {
					return
				}
			}
			c.found = c.found[:0]
			if c.broken || ctx.Err() != nil {
				return
			}
		}
	}
}

// maxFound is the largest number of findings in one part of the check.
const maxFound = 10_000

type checker struct {
	s        *Store
	ctx      context.Context
	progress Progress
	alone    bool // without the parts
	tx       *bbolt.Tx
	found    []error

	broken    bool // the page structure is damaged: records cannot be reached safely
	campaigns []Campaign
	counters  record.Counters
	counted   record.Counters
	complete  map[proof.ID]record.Certificate
	numbers   map[uint64]proof.ID
}

// each decodes every record of a bucket; a finding does not stop it. The total is how many records the
// counters promise, 0 if they say nothing.
func (c *checker) each(bucket string, total uint64, decode func(k, v []byte) error) error {
	n := 0
	return c.tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		if n++; n%1024 == 0 {
			c.progress.tell("bucket "+bucket, int64(n), int64(total))
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		if err := decode(k, v); err != nil {
			c.found = append(c.found, err)
			if len(c.found) >= maxFound {
				return record.Damaged(bucket, "more than %d records are damaged", maxFound)
			}
		}
		return nil
	})
}

// begin opens the transaction and returns the header of its moment. Commits wait until it has read the header,
// which the second one after it overwrites.
func (c *checker) begin() (page.Header, error) {
	if !c.s.options.ReadOnly {
		commits, err := c.s.db.Begin(true)
		if err != nil {
			return page.Header{}, ErrClosed
		}
		defer commits.Rollback()
	}
	var err error
	if c.tx, err = c.s.db.Begin(false); err != nil {
		return page.Header{}, ErrClosed
	}
	headers, err := page.ReadHeaders(c.s.file, math.MaxInt64)
	if err != nil {
		return page.Header{}, err
	}
	for _, h := range headers {
		if h.TxID != uint64(c.tx.ID()) {
			continue
		}
		if len(headers) < 2 {
			c.found = append(c.found, record.Damaged("", "one of its two headers is damaged; the next commits "+
				"replace it"))
		}
		return h, nil
	}
	return page.Header{}, record.Damaged("", "the header of its last commit does not say what a header has to say")
}

// pages verifies the structure of the file. Pages that the transaction can reach are not
// overwritten while it is open.
func (c *checker) pages() error {
	c.broken = true
	h, err := c.begin()
	if err != nil {
		return err
	}
	info, err := c.s.file.Stat()
	if err != nil {
		return err
	}
	m, err := page.New(c.ctx, c.s.file, info.Size(), h)
	if err != nil {
		return err
	}
	m.Progress = c.progress.tell
	buckets, err := m.Buckets()
	if err != nil {
		return err
	}
	if c.campaigns, err = readCampaigns(c.tx); err != nil {
		return err
	}
	if err := m.Whole(buckets, record.BucketsOf(c.campaigns), ""); err != nil {
		return err
	}
	c.broken = false
	return nil
}

// meta verifies the records about the store itself: those that must be there, those that may be
// there, and nothing else. What it reads of the counters is what the later steps compare their
// counts with.
func (c *checker) meta() error {
	wanted := map[string]bool{record.KeyMagic: true, record.KeyFormat: true}
	for _, about := range c.campaigns {
		wanted[record.Of(record.KeyCampaign, about.Number)], wanted[record.Of(record.KeyCounters, about.Number)] = true,
			true
	}
	c.counters.More, c.counted.More = map[uint32]*record.Tally{}, map[uint32]*record.Tally{}
	for _, about := range c.campaigns[1:] {
		c.counters.More[about.Number], c.counted.More[about.Number] = &record.Tally{}, &record.Tally{}
	}
	err := c.each(record.BucketMeta, 0, func(k, v []byte) (err error) {
		key := string(k)
		delete(wanted, key)
		switch key {
		case record.KeyMagic:
			_, err = record.Unseal(record.BucketMeta, k, v)
			return err
		case record.KeyFormat:
			_, err = record.DecodeFormat(v)
			return err
		case record.KeyCounters:
			more := c.counters.More
			c.counters, err = record.DecodeCounters(v)
			c.counters.More = more
			return err
		}
		if kindQuarantine.has(k) {
			_, err = decodeParty(kindQuarantine, partyOfQuarantine, k, v)
			return err
		}
		if kindStanding.has(k) {
			return checkStanding(c.tx, k, v)
		}
		for _, about := range c.campaigns {
			switch key {
			case record.Of(record.KeyCampaign, about.Number):
				return nil // campaigns are read
			case record.Of(record.KeyCounters, about.Number):
				*c.counters.More[about.Number], err = record.DecodeTally(about.Number, v)
				return err
			case record.Of(record.KeyContradiction, about.Number):
				_, err = record.DecodeContradiction(about.Number, v)
				return err
			case record.Of(record.KeyResult, about.Number):
				return record.DecodeJSON(key, v, &Result{})
			}
		}
		return record.Corrupt(record.BucketMeta, k, "no such record belongs to a store")
	})
	for key := range wanted {
		c.found = append(c.found, record.Corrupt(record.BucketMeta, []byte(key), "it is missing"))
	}
	return err
}

// own calls f for the first campaign of each pool.
func (c *checker) own(f func(about Campaign) error) error {
	for _, about := range c.campaigns {
		if about.Pool != about.Number {
			continue
		}
		if err := f(about); err != nil {
			return err
		}
	}
	return nil
}

// hints verifies the frame of each hint. Its content is a worker's word, and no one relies on it.
func (c *checker) hints() error {
	return c.own(func(about Campaign) error {
		bucket := record.Of(record.BucketHints, about.Number)
		return c.each(bucket, 0, func(k, v []byte) error {
			if len(k) != amazons.KeyBytes {
				return record.Corrupt(bucket, k, "its key has %d bytes, not %d", len(k), amazons.KeyBytes)
			}
			_, err := record.Unseal(bucket, k, v)
			return err
		})
	})
}

// nodes decodes each tree position. It must be of the board of its campaign, since a tree that is
// made of these records indexes its squares without looking again.
func (c *checker) nodes() error {
	for _, about := range c.campaigns {
		bucket, board, counted := record.Of(record.BucketNodes, about.Number), about.ParsedBoard(),
			c.counted.Of(about.Number)
		err := c.each(bucket, c.counters.Of(about.Number).Positions, func(k, v []byte) error {
			counted.Positions++
			n, err := record.DecodeNode(bucket, k, v)
			if err != nil {
				return err
			}
			if err := record.OnBoard(board, n.Key); err != nil {
				return record.Corrupt(bucket, k, "%v", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// certificates decodes the catalogue of parts and keeps it for the steps that follow: facts looks
// up which part proves a fact, and contents reads the parts. Numbers of arrival are unique, or two
// parts would change places in the order in which a look goes through them.
func (c *checker) certificates() error {
	c.complete = map[proof.ID]record.Certificate{}
	c.numbers = map[uint64]proof.ID{}
	return c.each(record.BucketCertificates, c.counters.Certificates, func(k, v []byte) error {
		c.counted.Certificates++
		id, known, err := record.DecodeCertificate(k, v)
		if err != nil {
			return err
		}
		c.counted.CertificateBytes += known.Size
		if other, ok := c.numbers[known.Number]; ok {
			return record.Corrupt(record.BucketCertificates, k, "it has the number %d of certificate %x", known.Number,
				other[:])
		}
		if known.Number > c.counters.Arrivals {
			return record.Corrupt(record.BucketCertificates, k, "its number %d is above the last one, %d", known.Number,
				c.counters.Arrivals)
		}
		if int(known.Pool) > len(c.campaigns) || c.campaigns[known.Pool-1].Pool != known.Pool {
			return record.Corrupt(record.BucketCertificates, k,
				"it is for the pool of campaign %d, and there is no such pool", known.Pool)
		}
		c.complete[id], c.numbers[known.Number] = known, id
		return nil
	})
}

// facts decodes each fact and looks for its part in the catalogue. A fact without a part, or with a
// part of another pool, proves nothing, whatever it says.
func (c *checker) facts() error {
	return c.own(func(about Campaign) error {
		bucket, board, counted := record.Of(record.BucketFacts, about.Number), about.ParsedBoard(),
			c.counted.Of(about.Number)
		return c.each(bucket, c.counters.Of(about.Number).Facts, func(k, v []byte) error {
			counted.Facts++
			f, err := record.DecodeFact(bucket, k, v)
			if err != nil {
				return err
			}
			if err := record.OnBoard(board, f.Key); err != nil {
				return record.Corrupt(bucket, k, "%v", err)
			}
			if r, ok := c.complete[f.Certificate]; !ok {
				return record.Corrupt(bucket, k, "its certificate %x is not complete in the store", f.Certificate[:])
			} else if r.Pool != about.Number {
				return record.Corrupt(bucket, k, "its certificate %x is of another board or kind of proof",
					f.Certificate[:])
			}
			return nil
		})
	})
}

// contents reads every part and verifies its SHA-256. One whose record is gone since the check began is passed
// over. Where all of them are missing, as beside a copy of the file alone, that is one finding. It ends where the parts
// cannot be read now: that is no damage.
func (c *checker) contents() error {
	if c.alone {
		return nil
	}
	done := int64(0)
	read := func(n int) {
		done += int64(n)
		c.progress.tell("contents of certificates", done, int64(c.counters.CertificateBytes))
	}
	var missing []error
	for id, known := range c.complete {
		if known.Dropped {
			continue
		}
		err := evidence.Verify(c.ctx, c.s.evidence, id, int64(known.Size), read)
		if errors.Is(err, evidence.ErrAway) || c.ctx.Err() != nil { // the next part would say the same, after a while
			return cmp.Or(c.ctx.Err(), err)
		}
		if _, still, gone := c.s.certificate(id); err == nil || gone == nil && !still {
			continue
		}
		if found := c.s.partError(id, err); errors.Is(err, evidence.ErrMissing) {
			missing = append(missing, found)
		} else {
			c.found = append(c.found, found)
		}
	}
	if n := len(missing); n > 1 && n == len(c.complete) {
		missing = []error{record.Damaged(record.BucketCertificates, "all of its %d parts, %d bytes, are missing in %s",
			n, c.counted.CertificateBytes, c.s.evidence)}
	}
	c.found = append(c.found, missing...)
	for _, err := range c.s.evidence.List() {
		if err != nil && !errors.Is(err, evidence.ErrForeign) {
			return err
		} else if err != nil {
			c.found = append(c.found, fmt.Errorf("%w: %w", ErrCorrupt, err))
		}
	}
	return nil
}

// totals compares what the steps before have counted with what the counters say. A difference means
// that a record was lost or came twice, even if all that are there are good.
func (c *checker) totals() error {
	all := []error{counted(record.BucketCertificates, c.counted.Certificates, c.counters.Certificates)}
	for _, about := range c.campaigns {
		found, said := c.counted.Of(about.Number), c.counters.Of(about.Number)
		all = append(all, counted(record.Of(record.BucketNodes, about.Number), found.Positions, said.Positions),
			counted(record.Of(record.BucketFacts, about.Number), found.Facts, said.Facts))
	}
	c.found = append(c.found, slices.DeleteFunc(all, func(err error) bool { return err == nil })...)
	if c.counted.CertificateBytes != c.counters.CertificateBytes {
		c.found = append(c.found, record.Damaged(record.BucketCertificates,
			"its certificates have %d bytes where the counters say %d", c.counted.CertificateBytes,
			c.counters.CertificateBytes))
	}
	return nil
}

// CheckFile verifies a store that no process has open for writing; see Store.findings. Damage is in the
// report, even damage for which Open refuses the store. CheckFile writes nothing. Errors: those of
// Open except ErrCorrupt, and ctx's.
func CheckFile(ctx context.Context, file string, progress Progress) (Report, error) {
	return checkFile(ctx, file, true, progress)
}

// checkFile is CheckFile; without parts it leaves them out.
func checkFile(ctx context.Context, file string, parts bool, progress Progress) (Report, error) {
	r := Report{File: file}
	s, err := Open(file, Options{ReadOnly: true})
	if errors.Is(err, ErrCorrupt) {
		r.Found(err)
		return r, nil
	} else if err != nil {
		return r, err
	}
	defer s.Close()
	for err := range s.findings(ctx, progress, parts) {
		if !errors.Is(err, ErrCorrupt) {
			return r, err
		}
		r.Found(err)
	}
	if r.Good = len(r.Findings) == 0; !r.Good {
		return r, nil
	}
	c := s.Campaign()
	st, err := s.Stats()
	if err != nil {
		return r, err
	}
	r.Board, r.Root, r.FileBytes = c.Board, c.Root, st.FileBytes
	for _, about := range s.Campaigns() {
		r.Campaigns = append(r.Campaigns, about.Name)
	}
	r.Records, r.Hints, r.Evidence = st.Records, st.Hints, s.evidence.String()
	err = s.eachCertificate(func(_ proof.ID, c record.Certificate) {
		switch {
		case c.Dropped:
			r.Digests++
		case !parts && s.campaigns[0].Evidence == "":
			r.LacksParts, r.LacksBytes = r.LacksParts+1, r.LacksBytes+c.Size
		}
	})
	return r, err
}
