package store

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"time"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/store/record"
	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
)

// Campaign is a question, and the settings of the work on it. Its number, question and pool never
// change.
type Campaign struct {
	Number uint32 `json:"-"` // from 1, in the order in which campaigns came; part of the record's key
	// Name is for people. The default is the name of the board.
	Name       string    `json:"name,omitempty"`
	Board      string    `json:"board"`                 // such as "5x6"
	Root       string    `json:"root"`                  // the position to solve, in the text of amazons.Position
	FirstMoves []string  `json:"first_moves,omitempty"` // the search considers only these at the root; empty: all
	Created    time.Time `json:"created"`
	RulesOnly  bool      `json:"rules_only,omitempty"` // proofs may not use the counting lemma
	Build      string    `json:"build,omitempty"`      // the program that created the store
	// Pool names the campaigns that use each other's facts, certificates and hints: those of one
	// board and kind of proof. It is the number of the first of them.
	Pool uint32 `json:"facts,omitempty"`

	Priority int  `json:"priority,omitempty"` // the higher goes first
	Share    int  `json:"share,omitempty"`    // of the farm's work, among campaigns of the same priority
	Paused   bool `json:"paused,omitempty"`   // by an operator
	Ended    bool `json:"ended,omitempty"`    // by an operator, for good
}

// Limits of a campaign's settings.
const (
	DefaultShare = 100
	MaxShare     = 1_000_000
	MaxPriority  = 1_000_000 // and its negative

	maxFirstMoves = 1 << 14 // more than any position of a supported board has
)

var campaignName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// check returns the campaign's board, or an error that wraps ErrCampaign.
func (c Campaign) check() (amazons.Board, error) {
	b, err := amazons.ParseBoard(c.Board)
	if err != nil {
		return b, fmt.Errorf("%w: %v", ErrCampaign, err)
	}
	root, err := amazons.ParsePosition(c.Root)
	if err != nil {
		return b, fmt.Errorf("%w: %v", ErrCampaign, err)
	}
	if root.Board != b {
		return b, fmt.Errorf("%w: the root is a position of a %v board, not of %v", ErrCampaign, root.Board, b)
	}
	if len(c.FirstMoves) > maxFirstMoves {
		return b, fmt.Errorf("%w: %d first moves are more than %d", ErrCampaign, len(c.FirstMoves), maxFirstMoves)
	}
	for _, text := range c.FirstMoves {
		if _, err := root.ParseMove(text); err != nil {
			return b, fmt.Errorf("%w: first move: %v", ErrCampaign, err)
		}
	}
	switch {
	case c.Name != "" && !campaignName.MatchString(c.Name):
		return b, fmt.Errorf("%w: the name %.80q; a name has 1 to 64 letters, digits, dots, dashes and "+
			"underscores, a letter or digit first", ErrCampaign, c.Name)
	case c.Priority < -MaxPriority || c.Priority > MaxPriority:
		return b, fmt.Errorf("%w: the priority %d is not from %d to %d", ErrCampaign, c.Priority, -MaxPriority,
			MaxPriority)
	case c.Share < 0 || c.Share > MaxShare:
		return b, fmt.Errorf("%w: the share %d is not from 1 to %d", ErrCampaign, c.Share, MaxShare)
	}
	return b, nil
}

// Same returns nil if both campaigns ask the same question: board, root, first moves as written, kind
// of proof. Otherwise it returns an error that wraps ErrCampaign and names the difference.
func (c Campaign) Same(asked Campaign) error {
	differ := func(what string, stored, asked any) error {
		return fmt.Errorf("%w: the store holds %s %v, and you asked for %v; use another store, or ask this question",
			ErrCampaign, what, stored, asked)
	}
	switch {
	case c.Board != asked.Board:
		return differ("board", c.Board, asked.Board)
	case c.Root != asked.Root:
		return differ("root", c.Root, asked.Root)
	case !slices.Equal(c.FirstMoves, asked.FirstMoves):
		return differ("first moves", c.FirstMoves, asked.FirstMoves)
	case c.RulesOnly != asked.RulesOnly:
		return differ("rules-only =", c.RulesOnly, asked.RulesOnly)
	}
	return nil
}

// kin reports whether both campaigns belong to one pool: they have the same board and kind of proof.
func (c Campaign) kin(o Campaign) bool { return c.Board == o.Board && c.RulesOnly == o.RulesOnly }

// board returns the board of a checked campaign.
func (c Campaign) board() amazons.Board {
	b, _ := amazons.ParseBoard(c.Board)
	return b
}

// buckets returns the names of the buckets that a campaign or its pool has alone.
func (c Campaign) buckets() []string {
	own := []string{record.Of(record.BucketNodes, c.Number)}
	if c.Pool == c.Number {
		own = append(own, record.Of(record.BucketFacts, c.Number), record.Of(record.BucketHints, c.Number))
	}
	return own
}

// bucketsOf returns the names of all buckets of a store with these campaigns.
func bucketsOf(campaigns []Campaign) []string {
	names := []string{record.BucketMeta, record.BucketCertificates, record.BucketUploads, record.BucketChunks}
	for _, c := range campaigns {
		names = append(names, c.buckets()...)
	}
	return names
}

// campaignsIn reads the campaigns from the records of meta, by number.
func campaignsIn(records func(yield func(key string, value []byte) error) error) ([]Campaign, error) {
	var list []Campaign
	err := records(func(key string, value []byte) error {
		n := record.NumberIn(record.KeyCampaign, key)
		if n == 0 {
			return nil
		}
		c := Campaign{Number: n}
		if err := record.DecodeJSON(key, value, &c); err != nil {
			return err
		}
		if _, err := c.check(); err != nil {
			return record.Corrupt(record.BucketMeta, []byte(key), "%v", err)
		}
		if c.Name == "" {
			c.Name = c.Board
		}
		if c.Pool == 0 {
			c.Pool = n
		}
		if c.Share == 0 {
			c.Share = DefaultShare
		}
		list = append(list, c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b Campaign) int { return cmp.Compare(a.Number, b.Number) })
	if len(list) == 0 || list[0].Number != 1 {
		return nil, record.Corrupt(record.BucketMeta, []byte(record.KeyCampaign), "it is missing")
	}
	for i, c := range list {
		key := []byte(record.Of(record.KeyCampaign, c.Number))
		if c.Number != uint32(i+1) {
			return nil, record.Corrupt(record.BucketMeta, []byte(record.Of(record.KeyCampaign, uint32(i+1))),
				"it is missing")
		}
		if c.Pool > c.Number || !list[c.Pool-1].kin(c) || list[c.Pool-1].Pool != c.Pool {
			return nil, record.Corrupt(record.BucketMeta, key, "it cannot belong to the pool of campaign %d", c.Pool)
		}
	}
	return list, nil
}

// readCampaigns reads the campaigns in a transaction.
func readCampaigns(tx *bbolt.Tx) ([]Campaign, error) {
	return campaignsIn(func(yield func(string, []byte) error) error {
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
	if number == 0 {
		number = 1
	}
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

// AddCampaign adds a campaign to the pool of its board and kind of proof, and returns it with its
// number. An empty name becomes the name of the board, with a number if that is taken. Errors:
// ErrCampaign (malformed), ErrTaken, ErrTooLarge (more than Options.MaxCampaigns), and as of Commit.
func (s *Store) AddCampaign(c Campaign) (Campaign, error) {
	if c.Created.IsZero() {
		c.Created = time.Now()
	}
	c.Created = c.Created.UTC().Truncate(time.Second)
	if c.Share == 0 {
		c.Share = DefaultShare
	}
	if _, err := c.check(); err != nil {
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
					"another store",
					ErrTooLarge, len(all))
			}
			c.Number = uint32(len(all) + 1)
			c.Pool = c.Number
			taken := map[string]bool{}
			for _, o := range all {
				taken[o.Name] = true
				if o.Same(c) == nil {
					return fmt.Errorf("%w: campaign %s asks the same question",
						ErrTaken, o.Name)
				}
				if o.kin(c) && c.Pool == c.Number {
					c.Pool = o.Pool
				}
			}
			if c.Name == "" {
				c.Name = c.Board
				for i := 2; taken[c.Name]; i++ {
					c.Name = fmt.Sprintf("%s-%d", c.Board, i)
				}
			} else if taken[c.Name] {
				return fmt.Errorf("%w: %s; give another name", ErrTaken, c.Name)
			}
			value, err = record.EncodeJSON(record.Of(record.KeyCampaign, c.Number), c)
			return err
		},
		apply: func(tx *bbolt.Tx, n *record.Counters) error {
			for _, name := range c.buckets() {
				if _, err := tx.CreateBucket([]byte(name)); err != nil {
					return err
				}
			}
			n.More[c.Number] = &record.Tally{}
			return tx.Bucket([]byte(record.BucketMeta)).Put([]byte(record.Of(record.KeyCampaign, c.Number)), value)
		},
		then: func() { s.setCampaigns(append(all, c)) },
	})
	if err != nil {
		return Campaign{}, fmt.Errorf("add campaign: %w", err)
	}
	return c, nil
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
			if _, err := c.check(); err != nil {
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
	if err != nil {
		return Campaign{}, fmt.Errorf("change campaign: %w", err)
	}
	return c, nil
}

func (s *Store) setCampaigns(list []Campaign) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.campaigns = list
}

// Result is the final answer of a campaign. With it, a solved campaign answers at once.
type Result struct {
	// Verdict is won or lost, for the side to move at the root; unknown with NoGivenMoveWins.
	Verdict string `json:"outcome"`
	Winner  string `json:"winner,omitempty"` // white or black
	// NoGivenMoveWins says that each of the given first moves loses.
	NoGivenMoveWins bool   `json:"no_given_move_wins,omitempty"`
	WinningMove     string `json:"winning_move,omitempty"` // at the root
	// Verified says that the independent checker has accepted the certificate.
	Verified    bool            `json:"verified"`
	Certificate CertificateFile `json:"certificate,omitzero"`
	Nodes       uint64          `json:"nodes"`   // expanded by df-pn in all leases
	Seconds     float64         `json:"seconds"` // of search, over all runs of the master
	Workers     int             `json:"workers,omitempty"`
	Finished    time.Time       `json:"finished,omitzero"`
	Build       string          `json:"build,omitempty"`
}

// CertificateFile names the merged certificate of a result, a file beside the store.
type CertificateFile struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"` // 64 hexadecimal digits
	Bytes     int64  `json:"bytes"`
	Positions uint64 `json:"positions"` // entries
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
	if err != nil {
		return nil, fmt.Errorf("read contradiction: %w", err)
	}
	return c, nil
}
