package store

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"iter"
	"math"
	"strings"

	"go.etcd.io/bbolt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// findings is how many findings Check names.
const findings = 20

// Check verifies the whole store and returns nil, or an error that matches ErrCorrupt and names the
// first findings. It reads every byte of the file, beside commits; see Findings.
func (s *Store) Check() error {
	var list []error
	more := 0
	for err := range s.Findings(context.Background(), nil) {
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

// Findings verifies the whole store as of one moment and yields what is wrong, each a
// *CorruptError; or, when the check itself could not go on, an error of another kind. What is
// verified, in this order: the page structure of the file, and that each page is used once or free;
// that every record decodes and is on its campaign's board; that every fact's certificate is
// complete and for its board; that every chunk is there, belongs to something, and that the chunks
// of a certificate have its SHA-256; that the counters agree. Commits go on beside it; the file
// grows meanwhile, because no page of that moment is reused. The consumer may read from the store
// but not write to it.
func (s *Store) Findings(ctx context.Context, progress Progress) iter.Seq[error] {
	return func(yield func(error) bool) {
		// The consumer's code never runs inside guard: its panics are not ours.
		c := &checker{s: s, ctx: ctx, progress: progress}
		defer c.end()
		for _, part := range []func() error{c.pages, c.meta, c.nodes, c.certificates, c.facts, c.memories, c.chunks,
			c.contents, c.totals} {
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

// maxFound is how many findings one part of the check gathers.
const maxFound = 10_000

type checker struct {
	s        *Store
	ctx      context.Context
	progress Progress
	tx       *bbolt.Tx
	found    []error

	lone      int  // how often only one header was whole
	broken    bool // the page structure is damaged: records cannot be reached safely
	campaigns []Campaign
	counters  counters
	counted   counters
	complete  map[proof.ID]certRecord
	numbers   map[uint64]proof.ID
}

// each decodes every record of a bucket; a finding does not stop it.
func (c *checker) each(bucket string, decode func(k, v []byte) error) error {
	n, total := 0, c.totalOf(bucket)
	return c.tx.Bucket([]byte(bucket)).ForEach(func(k, v []byte) error {
		if n++; n%1024 == 0 {
			c.progress.tell("bucket "+bucket, int64(n), total)
			if err := c.ctx.Err(); err != nil {
				return err
			}
		}
		if err := decode(k, v); err != nil {
			c.found = append(c.found, err)
			if len(c.found) >= maxFound {
				return &CorruptError{Bucket: bucket, Reason: fmt.Sprintf("more than %d records are damaged", maxFound)}
			}
		}
		return nil
	})
}

// totalOf is how many records of a bucket the counters promise, 0 where they say nothing.
func (c *checker) totalOf(bucket string) int64 {
	if bucket == bucketCertificates {
		return int64(c.counters.certificates)
	}
	for _, about := range c.campaigns {
		own := c.counters.of(about.Number)
		switch {
		case own == nil:
		case bucket == of(bucketNodes, about.Number):
			return int64(own.positions)
		case bucket == of(bucketFacts, about.Number):
			return int64(own.facts)
		}
	}
	return 0
}

// begin opens the transaction and returns the file's header of that moment. A header lives until
// the second commit after it, so it has to be caught in time.
func (c *checker) begin() (header, error) {
	first, last := 0, 0 // transactions that were tried
	for i := range 100 {
		c.end()
		tx, err := c.s.db.Begin(false)
		if err != nil {
			return header{}, ErrClosed
		}
		c.tx = tx
		if last = tx.ID(); i == 0 {
			first = last
		}
		headers, err := readHeaders(c.s.file, math.MaxInt64)
		if err != nil {
			return header{}, err
		}
		for _, h := range headers {
			if h.txid == uint64(tx.ID()) {
				if len(headers) < 2 {
					c.lone++ // damaged, or just being written
					if c.lone < 10 {
						break
					}
					c.found = append(c.found, &CorruptError{Reason: "one of its two headers is damaged; the next commits replace it"})
				}
				return h, nil
			}
		}
	}
	if first == last {
		return header{}, &CorruptError{Reason: "the header of its last commit does not say what a header has to say"}
	}
	return header{}, errors.New("check proof store: commits came too fast to begin; try again")
}

func (c *checker) end() {
	if c.tx != nil {
		c.tx.Rollback()
		c.tx = nil
	}
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
	m, err := newImage(c.ctx, c.s.file, info.Size(), h)
	if err != nil {
		return err
	}
	m.progress = c.progress
	buckets, err := m.buckets()
	if err != nil {
		return err
	}
	if c.campaigns, err = readCampaigns(c.tx); err != nil {
		return err
	}
	if err := m.wholeStore(buckets, bucketsOf(c.campaigns)); err != nil {
		return err
	}
	c.broken = false
	return nil
}

func (c *checker) meta() error {
	wanted := map[string]bool{keyMagic: true, keyFormat: true}
	for _, about := range c.campaigns {
		wanted[of(keyCampaign, about.Number)], wanted[of(keyCounters, about.Number)] = true, true
	}
	c.counters.more, c.counted.more = map[uint32]*tally{}, map[uint32]*tally{}
	for _, about := range c.campaigns[1:] {
		c.counters.more[about.Number], c.counted.more[about.Number] = &tally{}, &tally{}
	}
	err := c.each(bucketMeta, func(k, v []byte) (err error) {
		key := string(k)
		delete(wanted, key)
		switch key {
		case keyMagic:
			_, err = unseal(bucketMeta, k, v)
			return err
		case keyFormat:
			_, err = decodeFormat(v)
			return err
		case keyCounters:
			more := c.counters.more
			c.counters, err = decodeCounters(v)
			c.counters.more = more
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
			case of(keyCampaign, about.Number):
				return nil // campaigns are read
			case of(keyCounters, about.Number):
				*c.counters.more[about.Number], err = decodeTally(about.Number, v)
				return err
			case of(keyContradiction, about.Number):
				_, err = decodeContradiction(about.Number, v)
				return err
			case of(keyResult, about.Number):
				return decodeJSON(key, v, &Result{})
			}
		}
		return corrupt(bucketMeta, k, "no such record belongs to a store")
	})
	for key := range wanted {
		c.found = append(c.found, corrupt(bucketMeta, []byte(key), "it is missing"))
	}
	return err
}

// own calls f for each campaign that has facts of its own.
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

func (c *checker) memories() error {
	return c.own(func(about Campaign) error {
		bucket := of(bucketHints, about.Number)
		return c.each(bucket, func(k, v []byte) error {
			if len(k) != amazons.KeyBytes {
				return corrupt(bucket, k, "its key has %d bytes, not %d", len(k), amazons.KeyBytes)
			}
			_, err := unseal(bucket, k, v)
			return err
		})
	})
}

func (c *checker) nodes() error {
	for _, about := range c.campaigns {
		bucket, board, counted := of(bucketNodes, about.Number), about.board(), c.counted.of(about.Number)
		err := c.each(bucket, func(k, v []byte) error {
			counted.positions++
			n, err := decodeNode(bucket, k, v)
			if err != nil {
				return err
			}
			if err := onBoard(board, n.Key); err != nil {
				return corrupt(bucket, k, "%v", err)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) certificates() error {
	c.complete = map[proof.ID]certRecord{}
	c.numbers = map[uint64]proof.ID{}
	return c.each(bucketCertificates, func(k, v []byte) error {
		c.counted.certificates++
		id, record, err := decodeCertificate(k, v)
		if err != nil {
			return err
		}
		c.counted.certificateBytes += record.size
		if other, ok := c.numbers[record.number]; ok {
			return corrupt(bucketCertificates, k, "it has the number %d of certificate %x", record.number, other[:])
		}
		if record.number > c.counters.uploads {
			return corrupt(bucketCertificates, k, "its number %d is above the last one, %d", record.number,
				c.counters.uploads)
		}
		if int(record.pool) > len(c.campaigns) || c.campaigns[record.pool-1].Pool != record.pool {
			return corrupt(bucketCertificates, k, "it is for the facts of campaign %d, which has none of its own",
				record.pool)
		}
		c.complete[id], c.numbers[record.number] = record, id
		return nil
	})
}

func (c *checker) facts() error {
	return c.own(func(about Campaign) error {
		bucket, board, counted := of(bucketFacts, about.Number), about.board(), c.counted.of(about.Number)
		return c.each(bucket, func(k, v []byte) error {
			counted.facts++
			f, err := decodeFact(bucket, k, v)
			if err != nil {
				return err
			}
			if err := onBoard(board, f.Key); err != nil {
				return corrupt(bucket, k, "%v", err)
			}
			if r, ok := c.complete[f.Certificate]; !ok {
				return corrupt(bucket, k, "its certificate %x is not complete in the store", f.Certificate[:])
			} else if r.pool != about.Number {
				return corrupt(bucket, k, "its certificate %x is of another board or kind of proof", f.Certificate[:])
			}
			return nil
		})
	})
}

// chunks verifies that each chunk belongs to a certificate or to an unfinished upload.
func (c *checker) chunks() error {
	uploads := map[uint64]bool{}
	err := c.each(bucketUploads, func(k, v []byte) error {
		number, _, _, err := decodeUpload(k, v)
		uploads[number] = err == nil
		return err
	})
	if err != nil {
		return err
	}
	return c.each(bucketChunks, func(k, v []byte) error {
		if len(k) != chunkKeyBytes {
			return corrupt(bucketChunks, k, "its key has %d bytes, not %d", len(k), chunkKeyBytes)
		}
		number, index := chunkOf(k)
		if id, ok := c.numbers[number]; ok {
			if size := c.complete[id].size; index >= chunkCount(size) {
				return corrupt(bucketChunks, k, "it lies past the end of certificate %x", id[:])
			}
			return nil // its data are verified with the certificate
		}
		if !uploads[number] {
			return corrupt(bucketChunks, k, "it belongs to no certificate and no upload")
		}
		_, err := unseal(bucketChunks, k, v)
		return err
	})
}

// contents verifies the SHA-256 of each certificate.
func (c *checker) contents() error {
	done := int64(0)
	for number, id := range c.numbers {
		record, hash := c.complete[id], sha256.New()
		for i := range chunkCount(record.size) {
			if err := c.ctx.Err(); err != nil {
				return err
			}
			data, err := readChunk(c.tx, record, i)
			if err != nil {
				c.found = append(c.found, err)
				hash = nil
				break
			}
			hash.Write(data)
			done += int64(len(data))
			c.progress.tell("contents of certificates", done, int64(c.counters.certificateBytes))
		}
		if hash != nil && proof.ID(hash.Sum(nil)) != id {
			c.found = append(c.found, corrupt(bucketCertificates, id[:],
				"the bytes under number %d do not have its SHA-256", number))
		}
	}
	return nil
}

func (c *checker) totals() error {
	all := []error{counted(bucketCertificates, c.counted.certificates, c.counters.certificates)}
	for _, about := range c.campaigns {
		found, said := c.counted.of(about.Number), c.counters.of(about.Number)
		all = append(all, counted(of(bucketNodes, about.Number), found.positions, said.positions),
			counted(of(bucketFacts, about.Number), found.facts, said.facts))
	}
	for _, err := range all {
		if err != nil {
			c.found = append(c.found, err)
		}
	}
	if c.counted.certificateBytes != c.counters.certificateBytes {
		c.found = append(c.found, &CorruptError{Bucket: bucketCertificates,
			Reason: fmt.Sprintf("its certificates have %d bytes where the counters say %d", c.counted.certificateBytes,
				c.counters.certificateBytes)})
	}
	return nil
}

// A Report is what CheckFile found.
type Report struct {
	File             string   `json:"file"`
	Board            string   `json:"board,omitempty"`
	Root             string   `json:"root,omitempty"`
	FileBytes        int64    `json:"file_bytes"`
	Nodes            uint64   `json:"tree_records"`
	Facts            uint64   `json:"facts"`
	Certificates     uint64   `json:"certificates"`
	CertificateBytes uint64   `json:"certificate_bytes"`
	Hints            int      `json:"memories"`
	Campaigns        []string `json:"campaigns,omitempty"` // their names; board and root are of the first
	Good             bool     `json:"good"`
	Findings         []string `json:"findings,omitempty"` // the first ones
	More             int      `json:"more,omitempty"`     // findings that are not listed
}

// maxListed is how many findings a Report lists.
const maxListed = 100

func (r *Report) found(err error) {
	if len(r.Findings) < maxListed {
		r.Findings = append(r.Findings, err.Error())
	} else {
		r.More++
	}
}

// String returns the report in lines for people: what is good, or each finding.
func (r *Report) String() string {
	if r.Good {
		text := fmt.Sprintf("store          %s: %s, every byte is good\nrecords        %d tree records, %d facts, %d certificates of %s, %d memories\n",
			r.File, cli.FormatSize(r.FileBytes), r.Nodes, r.Facts, r.Certificates,
			cli.FormatSize(int64(r.CertificateBytes)), r.Hints)
		if len(r.Campaigns) > 1 {
			text += fmt.Sprintf("campaigns      %s\n", strings.Join(r.Campaigns, " "))
		}
		return text
	}
	text := strings.Join(r.Findings, "\n") + "\n"
	if r.More > 0 {
		text += fmt.Sprintf("and %d more\n", r.More)
	}
	return text
}

// Err returns nil for a good store, and otherwise an error that wraps ErrCorrupt and names the
// first finding.
func (r *Report) Err() error {
	switch n := len(r.Findings) + r.More; {
	case r.Good:
		return nil
	case n == 1:
		return fmt.Errorf("%w: %s", ErrCorrupt, strings.TrimPrefix(r.Findings[0], ErrCorrupt.Error()+": "))
	default:
		return fmt.Errorf("%w in %d places, first: %s", ErrCorrupt, n,
			strings.TrimPrefix(r.Findings[0], ErrCorrupt.Error()+": "))
	}
}

// CheckFile verifies the whole of a store that no process has open for writing; see Findings.
// Damage is in the report, also where it keeps the store from being opened. Nothing is written.
// Errors: those of Open but ErrCorrupt; ctx's.
func CheckFile(ctx context.Context, file string, progress Progress) (Report, error) {
	r := Report{File: file}
	s, err := Open(file, Options{ReadOnly: true})
	if errors.Is(err, ErrCorrupt) {
		r.found(err)
		return r, nil
	} else if err != nil {
		return r, err
	}
	defer s.Close()
	for err := range s.Findings(ctx, progress) {
		if !errors.Is(err, ErrCorrupt) {
			return r, err
		}
		r.found(err)
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
	r.Nodes, r.Facts, r.Certificates, r.CertificateBytes, r.Hints = st.TreeRecords, st.Facts, st.Certificates,
		st.CertificateBytes, st.Hints
	return r, nil
}
