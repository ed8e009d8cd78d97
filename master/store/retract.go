package store

import (
	"fmt"
	"maps"
	"slices"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/record"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// SetVerified notes who has verified certificates, as a text of at most 200 bytes; an empty one takes
// it back. One that the store does not have any more is passed over. Errors: ErrInvalid, otherwise as of Commit;
// nothing is then noted.
func (s *Store) SetVerified(ids []proof.ID, by string) error {
	if err := record.CheckVerified(by); err != nil {
		return fmt.Errorf("note who has verified: %w: %v", ErrInvalid, err)
	}
	noted := map[proof.ID]record.Certificate{}
	drops, outlines := s.outlinesOf(ids, by)
	err := s.do(&request{
		records: len(ids),
		bytes:   int64(len(ids))*512 + outlines,
		check: func(tx *bbolt.Tx, _ *record.Counters) (err error) {
			noted, err = knownOf(tx, ids)
			return err
		},
		apply: func(tx *bbolt.Tx, _ *record.Counters) error {
			for id, c := range noted {
				c.Verified = by
				if outline := drops[id]; outline != nil {
					c.Outline, c.Dropped = outline, true
				}
				if err := tx.Bucket([]byte(record.BucketCertificates)).Put(id[:],
					record.EncodeCertificate(id, c)); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err == nil {
		s.dropParts(maps.Keys(drops))
	}
	return during("note who has verified", err)
}

// outlinesOf returns the outlines of the parts that need not be kept any more now that they are
// verified, with their size. Where a part cannot be read it stays.
func (s *Store) outlinesOf(ids []proof.ID, by string) (drops map[proof.ID][]byte, size int64) {
	if !s.options.Digest || by == "" {
		return nil, 0
	}
	drops = map[proof.ID][]byte{}
	for id := range unique(ids) {
		c, ok, err := s.certificate(id)
		if err != nil || !ok || c.Dropped {
			continue
		}
		if c.Outline == nil {
			if r, n, err := s.OpenCertificate(id); err == nil {
				c.Outline, _ = proof.Outline(r, n)
			}
		}
		if c.Outline != nil {
			drops[id] = c.Outline
			size += int64(len(c.Outline))
		}
	}
	return drops, size
}

// EachFact calls f with each fact of the store. Errors: ErrCorrupt, ErrClosed.
func (s *Store) EachFact(f func(pool uint32, fact proof.Fact)) error {
	return s.view(func(tx *bbolt.Tx) error { return s.eachFact(tx, f) })
}

// eachFact goes through the buckets of facts. A pool has one bucket, under the number of its first
// campaign, so the other campaigns of the pool are passed over.
func (s *Store) eachFact(tx *bbolt.Tx, f func(pool uint32, fact proof.Fact)) error {
	for _, about := range s.Campaigns() {
		if about.Pool != about.Number {
			continue
		}
		bucket := record.Of(record.BucketFacts, about.Number)
		if err := each(tx, bucket, record.DecodeFact, func(fact proof.Fact) { f(about.Number, fact) }); err != nil {
			return err
		}
	}
	return nil
}

// Retract removes certificates and, in the same transaction, all facts that name them, in all pools,
// and what was said of contradictions in these pools. Tree positions stay. It returns the positions of the
// facts, by pool. A certificate that is not there is passed over. Errors: as of Commit.
func (s *Store) Retract(ids []proof.ID) (facts map[uint32][]amazons.Key, err error) {
	_, facts, err = s.removeParts(ids, true)
	return facts, during("retract certificates", err)
}

// RemoveParts removes those certificates that no fact names, and returns them. It reads all facts, once for all of the
// certificates, and nothing is committed meanwhile. A store that was replaced keeps all: the newer one may need them.
// Errors: as of Commit; nothing is then removed.
func (s *Store) RemoveParts(ids []proof.ID) (removed []proof.ID, err error) {
	if Replaced(s.path) {
		return nil, nil
	}
	gone, _, err := s.removeParts(ids, false)
	return slices.Collect(maps.Keys(gone)), during("remove certificates", err)
}

// removeParts removes certificates. The facts that name them go as well; without withFacts, certificates stay that a
// fact names.
func (s *Store) removeParts(ids []proof.ID, withFacts bool) (gone map[proof.ID]record.Certificate,
	named map[uint32][]amazons.Key, err error) {
	var stops []uint32
	err = s.do(&request{
		records: len(ids),
		bytes:   int64(len(ids)) * pageSize,
		check: func(tx *bbolt.Tx, _ *record.Counters) (err error) {
			if gone, err = knownOf(tx, ids); err != nil {
				return err
			}
			of := unique(ids)
			named = map[uint32][]amazons.Key{}
			err = s.eachFact(tx, func(pool uint32, f proof.Fact) {
				if !withFacts {
					delete(gone, f.Certificate)
				} else if of[f.Certificate] {
					named[pool] = append(named[pool], f.Key)
				}
			})
			pools := map[uint32]bool{} // a fact that contradicts another one is in no store: its certificate tells
			for _, c := range gone {
				pools[c.Pool] = withFacts
			}
			for pool := range named {
				pools[pool] = true
			}
			for _, about := range s.Campaigns() {
				if pools[about.Pool] {
					stops = append(stops, about.Number)
				}
			}
			return err
		},
		apply: func(tx *bbolt.Tx, c *record.Counters) error {
			for id, known := range gone {
				c.Certificates--
				c.CertificateBytes -= known.Size
				if err := tx.Bucket([]byte(record.BucketCertificates)).Delete(id[:]); err != nil {
					return err
				}
			}
			for pool, keys := range named {
				bucket := tx.Bucket([]byte(record.Of(record.BucketFacts, pool)))
				c.Of(pool).Facts -= uint64(len(keys))
				for _, key := range keys {
					k := key.Bytes()
					if err := bucket.Delete(k[:]); err != nil {
						return err
					}
				}
			}
			for _, number := range stops {
				if err := metaOf(tx).Delete([]byte(record.Of(record.KeyContradiction, number))); err != nil {
					return err
				}
			}
			return nil
		},
	})
	if err != nil {
		return nil, nil, err
	}
	s.dropParts(maps.Keys(gone))
	return gone, named, nil
}

// knownOf returns the records of those certificates that there are.
func knownOf(tx *bbolt.Tx, ids []proof.ID) (map[proof.ID]record.Certificate, error) {
	known := map[proof.ID]record.Certificate{}
	for id := range unique(ids) {
		v := tx.Bucket([]byte(record.BucketCertificates)).Get(id[:])
		if v == nil {
			continue
		}
		_, c, err := record.DecodeCertificate(id[:], v)
		if err != nil {
			return nil, err
		}
		known[id] = c
	}
	return known, nil
}

func unique(ids []proof.ID) map[proof.ID]bool {
	set := make(map[proof.ID]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}
