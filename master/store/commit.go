package store

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"go.etcd.io/bbolt"
	bolterrors "go.etcd.io/bbolt/errors"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// The simple way to commit is one transaction per caller: two fsyncs each, some hundred a second.
// That is not enough for a large farm. So one goroutine writes, and all requests that wait when it
// is free share the next transaction. Three things must hold:
//
//   - A refused request (a contradiction, no evidence) leaves no trace and does not disturb the
//     others. So each request has two parts: check only reads and may refuse; apply only writes and
//     may not fail. Requests run one after the other, check then apply, so that each sees those
//     before it.
//   - After an error in apply or in the commit of the transaction, nobody knows what is on disk.
//     Every request in the transaction and every later one gets ErrFailed; opening the file again
//     shows what is there. The one exception is a disk that fills up before the header is written:
//     the file still has the header of the commit before, bbolt has rolled back, and the written
//     pages are free ones. Every request in the transaction gets ErrNoRoom, and the next
//     transaction may succeed.
//   - Requests of one caller are in order, because a caller waits for each.

// groupRecords is the number of records after which a transaction accepts no more requests: about
// 30 ms of work. Its first request may be larger.
const groupRecords = 4096

// A request is one caller's part of a transaction.
type request struct {
	records int
	bytes   int64                                              // of values and keys, to guard free space
	check   func(tx *bbolt.Tx, c *record.Counters) error       // nil: nothing to refuse
	apply   func(tx *bbolt.Tx, c *record.Counters) (err error) // all of the writes; updates the counters
	// once it is on disk, before the caller is told; nil: nothing
	then    func()
	refused error // result of check
	done    chan error
}

// ContradictionError names two facts that exclude each other. It matches ErrContradiction.
type ContradictionError struct {
	Stored  proof.Fact // or the first one, if both came in one Commit
	Claimed proof.Fact
}

// Error names both facts.
func (e *ContradictionError) Error() string {
	return fmt.Sprintf("%v: position %x is %v by certificate %x and claimed to be %v by certificate %x; one of the "+
		"two certificates is wrong, verify both",
		ErrContradiction, e.Stored.Key.Bytes(), e.Stored.Verdict, e.Stored.Certificate[:], e.Claimed.Verdict,
		e.Claimed.Certificate[:])
}

// Is reports whether target is ErrContradiction.
func (e *ContradictionError) Is(target error) bool { return target == ErrContradiction }

// Commit writes effects of the trees of some campaigns, and hints, as a whole or not at all. It
// returns when they are on disk. Effects of one campaign are in their order: of records with equal
// keys the last one counts. A stored fact stays as it is; the certificate of a new fact must be
// complete in the store. Commit drops hints beyond the limits. Callers that come together share a
// transaction. Errors: ErrContradiction, ErrNoEvidence, ErrInvalid, ErrTooLarge,
// ErrCampaign, ErrNoRoom, ErrCorrupt, ErrReadOnly, ErrFailed, ErrClosed; after any of them but
// ErrFailed nothing of the effects is in the store.
func (s *Store) Commit(effects []tree.Persist, hints []hints.Hint) error {
	batches, err := s.batches(effects, hints)
	if err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	r := &request{records: 1}
	n := 0
	said := map[uint32]map[amazons.Key]proof.Fact{} // by pool
	for _, b := range batches {
		if said[b.about.Pool] == nil {
			said[b.about.Pool] = make(map[amazons.Key]proof.Fact, len(b.facts))
		}
		if n += len(b.nodes) + len(b.facts); n > s.options.records {
			return fmt.Errorf("commit: %w: %d records at once, where %d are allowed; split it", ErrTooLarge, n,
				s.options.records)
		}
		if err := b.prepare(said[b.about.Pool]); err != nil {
			return fmt.Errorf("commit: %w", err)
		}
		r.records += len(b.nodes) + len(b.facts) + len(b.hints)
		r.bytes += b.bytes
	}
	inTurn := func(do func(*batch, *bbolt.Tx, *record.Counters) error) func(*bbolt.Tx, *record.Counters) error {
		return func(tx *bbolt.Tx, c *record.Counters) error {
			for _, b := range batches {
				if err := do(b, tx, c); err != nil {
					return err
				}
			}
			return nil
		}
	}
	r.check, r.apply = inTurn((*batch).check), inTurn((*batch).apply)
	return during("commit", s.do(r))
}

// A batch is what one Commit writes of a campaign.
type batch struct {
	about         Campaign
	nodes         []tree.NodeRecord // once prepared: sorted, one of each key
	facts         []proof.Fact
	fresh         []proof.Fact // once checked: those that the store does not have
	hints         []hints.Hint
	searched      uint64              // nodes; a smaller number than the stored one has no effect
	epoch         uint64              // 0: no change; a smaller one than the stored is refused
	stop          *tree.Contradiction // nil: no change
	contradiction []byte              // once prepared: stop as a record
	bytes         int64
}

// batches gathers effects and hints by campaign.
func (s *Store) batches(effects []tree.Persist, list []hints.Hint) (all []*batch, err error) {
	byNumber := map[uint32]*batch{}
	of := func(number uint32) (*batch, error) {
		about, err := s.campaign(number)
		if err != nil {
			return nil, err
		}
		b := byNumber[about.Number]
		if b == nil {
			b = &batch{about: about}
			byNumber[about.Number] = b
			all = append(all, b)
		}
		return b, nil
	}
	for _, p := range effects {
		b, err := of(p.Campaign)
		if err != nil {
			return nil, err
		}
		b.nodes = append(b.nodes, p.Nodes...)
		b.facts = append(b.facts, p.Facts...)
		b.searched = max(b.searched, p.Spent)
		b.epoch = max(b.epoch, p.Epoch)
		if b.stop == nil {
			b.stop = p.Contradiction
		}
	}
	for _, h := range list {
		b, err := of(h.Campaign)
		if err != nil {
			return nil, err
		}
		if keepable(b.about.ParsedBoard(), h) {
			b.hints = append(b.hints, h)
		}
	}
	return all, nil
}

// prepare judges a batch by itself. said are the facts of its pool in the batches before it.
func (b *batch) prepare(said map[amazons.Key]proof.Fact) error {
	board := b.about.ParsedBoard()
	for _, n := range b.nodes {
		if err := errors.Join(record.CheckNode(n), record.OnBoard(board, n.Key)); err != nil {
			return fmt.Errorf("%w: %v", ErrInvalid, err)
		}
	}
	for _, f := range b.facts {
		if err := errors.Join(record.CheckFact(f), record.OnBoard(board, f.Key)); err != nil {
			return fmt.Errorf("%w: %v", ErrInvalid, err)
		}
		if first, ok := said[f.Key]; ok && first.Verdict != f.Verdict {
			return &ContradictionError{Stored: first, Claimed: f}
		} else if !ok {
			said[f.Key] = f
		}
	}
	if b.stop != nil {
		var err error
		if b.contradiction, err = record.EncodeContradiction(b.about.Number, *b.stop); err != nil {
			return err
		}
	}
	b.nodes = lastOfEach(b.nodes)
	b.bytes = int64(len(b.nodes)+len(b.facts)+1)*128 + int64(len(b.contradiction))
	for _, n := range b.nodes {
		b.bytes += int64(len(n.Children))
	}
	for _, h := range b.hints {
		b.bytes += 2 * int64(len(h.Data)) // pages next to it are written anew
	}
	return nil
}

// check judges a batch against what the store holds now, and writes nothing. It runs in the
// transaction, after the batches before it were applied: so two callers with contradicting facts in
// one transaction find each other out.
func (b *batch) check(tx *bbolt.Tx, c *record.Counters) error {
	own, _, err := talliesOf(c, b.about)
	if err != nil {
		return err
	}
	if b.epoch != 0 && b.epoch < own.Epoch {
		return fmt.Errorf("%w: epoch %d is over, the store is at epoch %d", ErrInvalid, b.epoch, own.Epoch)
	}
	b.fresh, err = freshFacts(tx, b.about.Pool, b.facts)
	return err
}

// apply writes a batch that check has let through, and brings the counters along. Nothing in it
// refuses anything: an error here is one of the file, and ends the writing for good.
func (b *batch) apply(tx *bbolt.Tx, c *record.Counters) error {
	own, shared := c.Of(b.about.Number), c.Of(b.about.Pool)
	bucket := record.Of(record.BucketNodes, b.about.Number)
	nodes := tx.Bucket([]byte(bucket))
	for _, n := range b.nodes {
		k, v := record.EncodeNode(bucket, n)
		if nodes.Get(k) == nil {
			own.Positions++
		}
		if err := nodes.Put(k, v); err != nil {
			return err
		}
	}
	bucket = record.Of(record.BucketFacts, b.about.Pool)
	facts := tx.Bucket([]byte(bucket))
	for _, f := range b.fresh {
		k, v := record.EncodeFact(bucket, f)
		if facts.Get(k) != nil {
			continue // the batch of another campaign has it as well
		}
		if err := facts.Put(k, v); err != nil {
			return err
		}
		shared.Facts++
	}
	if err := putHints(tx, b.about.Pool, b.hints, b.fresh); err != nil {
		return err
	}
	own.Searched = max(own.Searched, b.searched)
	own.Epoch = max(own.Epoch, b.epoch)
	if b.contradiction != nil {
		return metaOf(tx).Put([]byte(record.Of(record.KeyContradiction, b.about.Number)), b.contradiction)
	}
	return nil
}

// lastOfEach returns the last record of each key, in the order of the keys, so that records of one
// page are written together.
func lastOfEach(all []tree.NodeRecord) []tree.NodeRecord {
	sorted := slices.Clone(all)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b tree.NodeRecord) int { return a.Key.Compare(b.Key) })
	return slices.CompactFunc(sorted, func(a, b tree.NodeRecord) bool { return a.Key == b.Key })
}

// freshFacts returns the facts that the store lacks, each once.
func freshFacts(tx *bbolt.Tx, campaign uint32, facts []proof.Fact) ([]proof.Fact, error) {
	bucket := record.Of(record.BucketFacts, campaign)
	stored, certificates := tx.Bucket([]byte(bucket)), tx.Bucket([]byte(record.BucketCertificates))
	complete := map[proof.ID]bool{}
	fresh := make([]proof.Fact, 0, len(facts))
	seen := make(map[amazons.Key]bool, len(facts))
	for _, f := range facts {
		k := f.Key.Bytes()
		if v := stored.Get(k[:]); v != nil {
			old, err := record.DecodeFact(bucket, k[:], v)
			if err != nil {
				return nil, err
			}
			if old.Verdict != f.Verdict {
				return nil, &ContradictionError{Stored: old, Claimed: f}
			}
			continue
		}
		if !complete[f.Certificate] {
			v := certificates.Get(f.Certificate[:])
			if v == nil {
				return nil, fmt.Errorf("%w: certificate %x of position %x is not complete in the store; "+
					"upload it first", ErrNoEvidence, f.Certificate[:], k)
			}
			if _, c, err := record.DecodeCertificate(f.Certificate[:], v); err != nil {
				return nil, err
			} else if c.Pool != campaign {
				return nil, fmt.Errorf("%w: certificate %x of position %x is of another board or kind of proof",
					ErrNoEvidence, f.Certificate[:], k)
			}
			complete[f.Certificate] = true
		}
		if !seen[f.Key] {
			seen[f.Key] = true
			fresh = append(fresh, f)
		}
	}
	return fresh, nil
}

// SetResult writes the final answer of a campaign. A later call may replace it, for instance once the
// certificate is verified; a different verdict is ErrContradiction. Other errors as of Commit.
func (s *Store) SetResult(campaign uint32, r Result) error {
	if r.Verdict != eval.Won.String() && r.Verdict != eval.Lost.String() &&
		!(r.Verdict == eval.Open.String() && r.NoGivenMoveWins) {
		return fmt.Errorf("set result: %w: the outcome of a result is won or lost, or unknown where no given first "+
			"move wins, not %q", ErrInvalid, r.Verdict)
	}
	about, err := s.campaign(campaign)
	if err != nil {
		return fmt.Errorf("set result: %w", err)
	}
	key := record.Of(record.KeyResult, about.Number)
	value, err := record.EncodeJSON(key, r)
	if err != nil {
		return fmt.Errorf("set result: %w", err)
	}
	err = s.do(&request{
		records: 1,
		bytes:   int64(len(value)),
		check: func(tx *bbolt.Tx, _ *record.Counters) error {
			v := metaOf(tx).Get([]byte(key))
			if v == nil {
				return nil
			}
			var old Result
			if err := record.DecodeJSON(key, v, &old); err != nil {
				return err
			}
			if old.Verdict != r.Verdict || old.Winner != r.Winner {
				return fmt.Errorf("%w: the stored result is %s %s and the new one is %s %s; one of the two is "+
					"wrong, verify the certificate", ErrContradiction, old.Verdict, old.Winner, r.Verdict, r.Winner)
			}
			return nil
		},
		apply: func(tx *bbolt.Tx, _ *record.Counters) error {
			return metaOf(tx).Put([]byte(key), value)
		},
	})
	return during("set result", err)
}

// do hands a request to the writer and waits until it is on disk or refused.
func (s *Store) do(r *request) error {
	if s.options.ReadOnly {
		return fmt.Errorf("%w; open it without ReadOnly to write", ErrReadOnly)
	}
	select {
	case <-s.closing:
		return ErrClosed
	default:
	}
	r.done = make(chan error, 1)
	select {
	case s.requests <- r:
	case <-s.closing:
		return ErrClosed
	}
	select {
	case err := <-r.done:
		return err
	case <-s.stopped:
	}
	select { // the writer may have answered just before it stopped
	case err := <-r.done:
		return err
	default:
		return ErrClosed
	}
}

// write is the writer: it runs until Close.
func (s *Store) write() {
	defer close(s.stopped)
	for {
		var group []*request
		select {
		case r := <-s.requests:
			group = append(group, r)
		case <-s.closing:
			select { // requests that came before Close are served
			case r := <-s.requests:
				group = append(group, r)
			default:
				return
			}
		}
		// Whoever waits already comes along; nobody is waited for. So a lone caller pays for no
		// delay, and under load the groups grow by themselves.
		for records := group[0].records; records < groupRecords; {
			select {
			case r := <-s.requests:
				group = append(group, r)
				records += r.records
				continue
			default:
			}
			break
		}
		err := s.transact(group)
		for _, r := range group {
			if r.refused != nil {
				r.done <- r.refused
			} else {
				if err == nil && r.then != nil {
					r.then()
				}
				r.done <- err
			}
		}
	}
}

var errNothing = errors.New("nothing to write")

// transact writes a group in one transaction. Its error is the error of all requests that were not
// refused.
func (s *Store) transact(group []*request) error {
	if failed := s.failed.Load(); failed != nil {
		return *failed
	}
	var bytes int64
	for _, r := range group {
		bytes += r.bytes
	}
	// A leaf is rewritten around each record: twice the bytes and some pages of the path.
	if err := s.options.room(s.path, 2*bytes+1<<20); err != nil {
		return err
	}
	s.pace()
	var id uint64
	records, applying := 0, false
	begin := time.Now()
	err := guard(func() error {
		return s.db.Update(func(tx *bbolt.Tx) error {
			id = uint64(tx.ID())
			// The counters are read anew in each transaction, and written only where they changed.
			c, err := readCounters(tx)
			if err != nil {
				return err
			}
			for _, r := range group {
				if r.check != nil {
					if r.refused = r.check(tx, &c); r.refused != nil {
						continue
					}
				}
				applying = true
				if err := r.apply(tx, &c); err != nil {
					return err
				}
				records += r.records
			}
			if !applying {
				return errNothing
			}
			c.Commits++
			return writeCounters(tx, c)
		})
	})
	for _, r := range group {
		s.place(r.refused)
	}
	switch {
	case err == nil:
		if s.options.onCommit != nil {
			s.options.onCommit(time.Since(begin), records)
		}
		return nil
	case errors.Is(err, errNothing):
		return nil
	case errors.Is(err, bolterrors.ErrMaxSizeReached): // rolled back before the first write
		return fmt.Errorf("%w: %s would grow past its limit of %d MiB; go on in another store", ErrNoRoom,
			s.path, s.options.storeBytes>>20)
	// The header on disk is still the one before: bbolt has rolled back, and nothing of the
	// transaction counts. So the store may go on once there is room.
	case disk.Full(err) && s.isAt(id-1):
		return fmt.Errorf("%w: the disk under %s is full (%w); make room", ErrNoRoom, s.path, err)
	}
	if disk.Full(err) {
		err = fmt.Errorf("%w: the disk under %s is full (%w); make room and open the store again", ErrFailed, s.path,
			err)
	} else {
		err = fmt.Errorf("%w: writing %s stopped (%w); open the store again to see what is on disk", ErrFailed, s.path,
			err)
	}
	s.failed.Store(&err)
	return err
}

// isAt reports whether both headers of the file are whole and the newer one is of the given
// transaction.
func (s *Store) isAt(id uint64) bool {
	headers, err := page.ReadHeaders(s.file, math.MaxInt64)
	return err == nil && len(headers) == 2 && max(headers[0].TxID, headers[1].TxID) == id
}

// The file grows by an eighth of its size at a time, between these bounds. Each time costs an fsync.
const (
	minGrowth = 64 << 10
	maxGrowth = 16 << 20
)

// pace sets by how much the next transaction makes the file grow. bbolt reads the number in that
// transaction only.
func (s *Store) pace() {
	if info, err := s.file.Stat(); err == nil {
		s.db.AllocSize = int(min(max(info.Size()/8, minGrowth), maxGrowth))
	}
}
