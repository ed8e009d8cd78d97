package record

import (
	"cmp"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

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
	// Evidence is where the parts of the whole store lie, said by its first campaign, as evidence.Open
	// takes it; empty: in the folder beside the file.
	Evidence string `json:"evidence,omitempty"`

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

// Check returns the campaign's board, or an error that wraps ErrCampaign.
func (c Campaign) Check() (amazons.Board, error) {
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
	if err := CheckName(c.Name); err != nil {
		return b, err
	}
	switch {
	case c.Priority < -MaxPriority || c.Priority > MaxPriority:
		return b, fmt.Errorf("%w: the priority %d is not from %d to %d", ErrCampaign, c.Priority, -MaxPriority,
			MaxPriority)
	case !Printable(c.Build):
		return b, fmt.Errorf("%w: its build is %.80q, which is no line of text", ErrCampaign, c.Build)
	case c.Share < 0 || c.Share > MaxShare:
		return b, fmt.Errorf("%w: the share %d is not from 1 to %d", ErrCampaign, c.Share, MaxShare)
	}
	return b, nil
}

// CheckName refuses what is no name of a campaign, with an error that wraps ErrCampaign. An empty name is none yet.
func CheckName(name string) error {
	if name == "" || campaignName.MatchString(name) {
		return nil
	}
	return fmt.Errorf("%w: the name %.80q; a name has 1 to 64 letters, digits, dots, dashes and underscores, "+
		"a letter or digit first", ErrCampaign, name)
}

// firstMovesText writes the first moves that a question is about.
func firstMovesText(moves []string) string {
	if len(moves) == 0 {
		return "all first moves"
	}
	return strings.Join(moves, " ") + " only"
}

// Same returns nil if both campaigns ask the same question: board, root, first moves as written, kind
// of proof. Otherwise it returns an error that wraps ErrCampaign and names the difference.
func (c Campaign) Same(asked Campaign) error {
	differ := func(what string, stored, asked any) error {
		return fmt.Errorf("%w: the store %s %v, and you asked for %v; use another store, or ask this store's question",
			ErrCampaign, what, stored, asked)
	}
	switch {
	case c.Board != asked.Board:
		return differ("holds board", c.Board, asked.Board)
	case c.Root != asked.Root:
		return differ("holds root", c.Root, asked.Root)
	case !slices.Equal(c.FirstMoves, asked.FirstMoves):
		return differ("asks about", firstMovesText(c.FirstMoves), firstMovesText(asked.FirstMoves))
	case c.RulesOnly != asked.RulesOnly:
		return differ("holds rules-only =", c.RulesOnly, asked.RulesOnly)
	}
	return nil
}

// Kin reports whether both campaigns belong to one pool: they have the same board and kind of proof.
func (c Campaign) Kin(o Campaign) bool { return c.Board == o.Board && c.RulesOnly == o.RulesOnly }

// ParsedBoard returns the board of a checked campaign.
func (c Campaign) ParsedBoard() amazons.Board {
	b, _ := amazons.ParseBoard(c.Board)
	return b
}

// Buckets returns the names of the buckets that a campaign or its pool has alone.
func (c Campaign) Buckets() []string {
	own := []string{Of(BucketNodes, c.Number)}
	if c.Pool == c.Number {
		own = append(own, Of(BucketFacts, c.Number), Of(BucketHints, c.Number))
	}
	return own
}

// BucketsOf returns the names of all buckets of a store with these campaigns.
func BucketsOf(campaigns []Campaign) []string {
	names := []string{BucketMeta, BucketCertificates}
	for _, c := range campaigns {
		names = append(names, c.Buckets()...)
	}
	return names
}

// CampaignsIn reads the campaigns from the records of meta, by number.
// What a record leaves out has its default here: the board for the name, the campaign itself for the pool.
func CampaignsIn(records iter.Seq2[string, []byte]) ([]Campaign, error) {
	var list []Campaign
	for key, value := range records {
		n := NumberIn(KeyCampaign, key)
		if n == 0 {
			continue
		}
		c := Campaign{Number: n}
		if err := DecodeJSON(key, value, &c); err != nil {
			return nil, err
		}
		if _, err := c.Check(); err != nil {
			return nil, Corrupt(BucketMeta, []byte(key), "%v", err)
		}
		c.Name, c.Pool, c.Share = cmp.Or(c.Name, c.Board), cmp.Or(c.Pool, n), cmp.Or(c.Share, DefaultShare)
		list = append(list, c)
	}
	slices.SortFunc(list, func(a, b Campaign) int { return cmp.Compare(a.Number, b.Number) })
	if len(list) == 0 || list[0].Number != 1 {
		return nil, Corrupt(BucketMeta, []byte(KeyCampaign), "it is missing")
	}
	for i, c := range list {
		key := []byte(Of(KeyCampaign, c.Number))
		if c.Number != uint32(i+1) {
			return nil, Corrupt(BucketMeta, []byte(Of(KeyCampaign, uint32(i+1))), "it is missing")
		}
		// A pool has the number of its first campaign. So that campaign came before, is in the same
		// pool, and has the same board and kind of proof.
		if c.Pool > c.Number || !list[c.Pool-1].Kin(c) || list[c.Pool-1].Pool != c.Pool {
			return nil, Corrupt(BucketMeta, key, "it cannot belong to the pool of campaign %d", c.Pool)
		}
	}
	return list, nil
}

// Result is the final answer of a campaign. With it, a solved campaign is not searched again.
type Result struct {
	// Verdict is won or lost, for the side to move at the root; unknown with NoGivenMoveWins.
	Verdict string `json:"outcome"`
	Winner  string `json:"winner,omitempty"` // white or black
	// NoGivenMoveWins says that each of the given first moves loses.
	NoGivenMoveWins bool   `json:"no_given_move_wins,omitempty"`
	WinningMove     string `json:"winning_move,omitempty"` // at the root, the first of those below
	// WinningMoves are all moves at the root that are known to win. Stores that were made before have none of them.
	WinningMoves []string `json:"winning_moves,omitempty"`
	// Verified says that the independent checker has accepted the certificate.
	Verified    bool            `json:"verified"`
	VerifiedBy  string          `json:"verified_by,omitempty"` // workers, where theirs has
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

// Printable reports whether a text has only characters that a terminal may show.
func Printable(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
