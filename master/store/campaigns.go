package store

import (
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
	return record.CampaignsIn(withPrefix(tx, record.KeyCampaign))
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
	c.Created = cmp.Or(c.Created, time.Now()).UTC().Truncate(time.Second)
	c.Share = cmp.Or(c.Share, DefaultShare)
	if _, err := c.Check(); err != nil {
		return Campaign{}, fmt.Errorf("add campaign: %w", err)
	}
	c, err := s.putCampaign(&request{records: 2, bytes: 4 * pageSize}, func(all []Campaign) (Campaign, error) {
		if len(all) >= s.options.MaxCampaigns {
			return c, fmt.Errorf("%w: it has %d campaigns, and more are not allowed; raise the limit, or use "+
				"another store", ErrTooLarge, len(all))
		}
		c.Number = uint32(len(all) + 1)
		c.Pool = c.Number
		for _, o := range all {
			if o.Same(c) == nil && o.Ended {
				return c, fmt.Errorf("%w: %s asked the same question and was given up; use another store", ErrTaken,
					o.Name)
			} else if o.Same(c) == nil {
				return c, fmt.Errorf("%w: %s asks the same question", ErrTaken, o.Name)
			}
			if o.Kin(c) && c.Pool == c.Number {
				c.Pool = o.Pool
			}
		}
		if c.Name == "" {
			c.Name = FreeName(all, c.Board)
		} else if named(all, c.Name) {
			return c, fmt.Errorf("%w: %s; give another name", ErrTaken, c.Name)
		}
		return c, nil
	})
	return c, during("add campaign", err)
}

// putCampaign writes the campaign that choose makes of all campaigns: a new one, or a changed one of them. The request
// says what that takes. The campaigns are those of the transaction, so that no other change comes in between.
func (s *Store) putCampaign(r *request, choose func(all []Campaign) (Campaign, error)) (c Campaign, err error) {
	var value []byte
	var all []Campaign
	r.check = func(tx *bbolt.Tx, _ *record.Counters) (err error) {
		if all, err = readCampaigns(tx); err == nil {
			c, err = choose(all)
		}
		if err == nil {
			value, err = record.EncodeJSON(record.Of(record.KeyCampaign, c.Number), c)
		}
		return err
	}
	r.apply = func(tx *bbolt.Tx, n *record.Counters) error {
		if int(c.Number) <= len(all) {
			all[c.Number-1] = c
		} else {
			for _, name := range c.Buckets() {
				if _, err := tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			n.More[c.Number] = &record.Tally{}
			all = append(all, c)
		}
		return metaOf(tx).Put([]byte(record.Of(record.KeyCampaign, c.Number)), value)
	}
	r.then = func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.campaigns = all
	}
	err = s.do(r)
	return c, err
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
	c, err := s.putCampaign(&request{records: 1, bytes: pageSize}, func(all []Campaign) (Campaign, error) {
		c := all[max(number, 1)-1]
		if c.Ended && !change.End {
			return c, fmt.Errorf("%w: %s was given up for good", ErrCampaign, c.Name)
		}
		if change.Priority != nil {
			c.Priority = *change.Priority
		}
		if change.Share != nil {
			if c.Share = *change.Share; c.Share == 0 {
				return c, fmt.Errorf("%w: the share 0 is not from 1 to %d; pause the campaign instead", ErrCampaign,
					MaxShare)
			}
		}
		if change.Paused != nil {
			c.Paused = *change.Paused
		}
		c.Ended = c.Ended || change.End
		_, err := c.Check()
		return c, err
	})
	return c, during("change campaign", err)
}

// Contradicted returns the contradiction that stopped a campaign, nil if there is none.
func (s *Store) Contradicted(number uint32) (c *tree.Contradiction, err error) {
	number = max(number, 1)
	err = s.view(func(tx *bbolt.Tx) error {
		c, err = contradictionIn(tx, number)
		return err
	})
	return c, during("read contradiction", err)
}
