package store

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
)

// What package record defines of a campaign.
type (
	// Campaign is a question, and the settings of the work on it.
	Campaign = record.Campaign
	// Result is the final answer of a campaign.
	Result = record.Result
	// CertificateFile names the merged certificate of a result, a file beside the store.
	CertificateFile = record.CertificateFile
)

// Limits of a campaign's settings.
const (
	DefaultShare = record.DefaultShare
	MaxShare     = record.MaxShare
)

// readCampaigns reads the campaigns in a transaction.
func readCampaigns(tx *bbolt.Tx) ([]Campaign, error) {
	return record.CampaignsIn(func(yield func(string, []byte) error) error {
		cursor := tx.Bucket([]byte(record.BucketMeta)).Cursor()
		for k, v := cursor.Seek([]byte(record.KeyCampaign)); bytes.HasPrefix(k, []byte(record.KeyCampaign)); k,
			v = cursor.Next() {
			if err := yield(string(k), v); err != nil {
				return err
			}
		}
		return nil
	})
}

// Campaigns returns all campaigns, by number.
func (s *Store) Campaigns() []Campaign {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := slices.Clone(s.campaigns)
	for i := range list {
		list[i].FirstMoves = slices.Clone(list[i].FirstMoves)
	}
	return list
}

// Campaign returns the first campaign. Every store has one.
func (s *Store) Campaign() Campaign { return s.Campaigns()[0] }

// campaign returns the campaign with a number; 0 stands for 1. Errors wrap ErrCampaign.
func (s *Store) campaign(number uint32) (Campaign, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	number = max(number, 1)
	if int(number) > len(s.campaigns) {
		return Campaign{}, fmt.Errorf("%w: the store has %d campaigns, none with the number %d", ErrCampaign,
			len(s.campaigns), number)
	}
	return s.campaigns[number-1], nil
}

// PoolOf returns the pool of a campaign, 0 if there is no such campaign.
func (s *Store) PoolOf(number uint32) uint32 {
	c, err := s.campaign(number)
	if err != nil {
		return 0
	}
	return c.Pool
}

func named(all []Campaign, name string) bool {
	return slices.ContainsFunc(all, func(c Campaign) bool { return c.Name == name })
}

// FreeName returns the name that a campaign of a board gets beside others if it is given none.
func FreeName(all []Campaign, board string) string {
	name := board
	for i := 2; named(all, name); i++ {
		name = fmt.Sprintf("%s-%d", board, i)
	}
	return name
}

// AddCampaign adds a campaign to the pool of its board and kind of proof, and returns it with its
// number. An empty name becomes the name of the board, with a number if that is taken. Errors:
// ErrCampaign (malformed), ErrTaken, ErrTooLarge (more than Options.MaxCampaigns), and as of Commit.
func (s *Store) AddCampaign(c Campaign) (Campaign, error) {
	if c.Created.IsZero() {
		c.Created = time.Now()
	}
	c.Created = c.Created.UTC().Truncate(time.Second)
	c.Share = cmp.Or(c.Share, DefaultShare)
	if _, err := c.Check(); err != nil {
		return Campaign{}, fmt.Errorf("add campaign: %w", err)
	}
	var value []byte
	var all []Campaign
	err := s.do(&request{
		records: 2,
		bytes:   4 * pageSize,
		check: func(tx *bbolt.Tx, _ *record.Counters) (err error) {
			if all, err = readCampaigns(tx); err != nil {
				return err
			}
			if len(all) >= s.options.MaxCampaigns {
				return fmt.Errorf("%w: it has %d campaigns, and more are not allowed; raise the limit, or use "+
					"another store", ErrTooLarge, len(all))
			}
			c.Number = uint32(len(all) + 1)
			c.Pool = c.Number
			for _, o := range all {
				if o.Same(c) == nil && o.Ended {
					return fmt.Errorf("%w: %s asked the same question and was given up; use another store", ErrTaken,
						o.Name)
				} else if o.Same(c) == nil {
					return fmt.Errorf("%w: %s asks the same question", ErrTaken, o.Name)
				}
				if o.Kin(c) && c.Pool == c.Number {
					c.Pool = o.Pool
				}
			}
			if c.Name == "" {
				c.Name = FreeName(all, c.Board)
			} else if named(all, c.Name) {
				return fmt.Errorf("%w: %s; give another name", ErrTaken, c.Name)
			}
			value, err = record.EncodeJSON(record.Of(record.KeyCampaign, c.Number), c)
			return err
		},
		apply: func(tx *bbolt.Tx, n *record.Counters) error {
			for _, name := range c.Buckets() {
				if _, err := tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			n.More[c.Number] = &record.Tally{}
			return tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.Of(record.KeyCampaign, c.Number)), value)
		},
		then: func() { s.setCampaigns(append(all, c)) },
	})
	return c, during("add campaign", err)
}

// Change is a change of settings by an operator; nil leaves a setting as it is.
type Change struct {
	Priority, Share *int
	Paused          *bool
	End             bool // for good
}

// ChangeCampaign changes the settings of a campaign and returns the changed campaign. Errors:
// ErrCampaign, and as of Commit.
func (s *Store) ChangeCampaign(number uint32, change Change) (Campaign, error) {
	if _, err := s.campaign(number); err != nil {
		return Campaign{}, fmt.Errorf("change campaign: %w", err)
	}
	var value []byte
	var c Campaign
	var all []Campaign
	err := s.do(&request{
		records: 1,
		bytes:   pageSize,
		check: func(tx *bbolt.Tx, _ *record.Counters) (err error) {
			if all, err = readCampaigns(tx); err != nil {
				return err
			}
			c = all[max(number, 1)-1]
			if c.Ended && !change.End {
				return fmt.Errorf("%w: %s was given up for good", ErrCampaign, c.Name)
			}
			if change.Priority != nil {
				c.Priority = *change.Priority
			}
			if change.Share != nil {
				if c.Share = *change.Share; c.Share == 0 {
					return fmt.Errorf("%w: the share 0 is not from 1 to %d; pause the campaign instead", ErrCampaign,
						MaxShare)
				}
			}
			if change.Paused != nil {
				c.Paused = *change.Paused
			}
			c.Ended = c.Ended || change.End
			if _, err := c.Check(); err != nil {
				return err
			}
			all[c.Number-1] = c
			value, err = record.EncodeJSON(record.Of(record.KeyCampaign, c.Number), c)
			return err
		},
		apply: func(tx *bbolt.Tx, _ *record.Counters) error {
			return tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.Of(record.KeyCampaign, c.Number)), value)
		},
		then: func() { s.setCampaigns(all) },
	})
	return c, during("change campaign", err)
}

func (s *Store) setCampaigns(list []Campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigns = list
}

// Contradicted returns the contradiction that stopped a campaign, nil if there is none.
func (s *Store) Contradicted(number uint32) (c *tree.Contradiction, err error) {
	number = max(number, 1)
	err = s.view(func(tx *bbolt.Tx) error {
		if v := tx.Bucket([]byte(record.BucketMeta)).Get([]byte(record.Of(record.KeyContradiction, number))); v != nil {
			c, err = record.DecodeContradiction(number, v)
			return err
		}
		return nil
	})
	return c, during("read contradiction", err)
}
