package farm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"amazonsfarm/master/assemble"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// StoreReport says what VerifyStore found.
type StoreReport struct {
	File             string   `json:"file"`
	Board            string   `json:"board"`
	Root             string   `json:"root"`
	FirstMoves       []string `json:"first_moves,omitempty"`
	Nodes            uint64   `json:"nodes"` // spent
	TreePositions    uint64   `json:"tree_positions"`
	Facts            uint64   `json:"facts"`
	Certificates     uint64   `json:"certificates"`
	CertificateBytes uint64   `json:"certificate_bytes"`
	Settled          bool     `json:"settled"`
	Winner           string   `json:"winner,omitempty"`
	CertificateFile  string   `json:"certificate_file,omitempty"` // what was checked; empty: made from the store for the check
	Contradiction    string   `json:"contradiction,omitempty"`
}

// String returns the report in a few lines for people.
func (r *StoreReport) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "store          %s: every record is good\n", r.File)
	fmt.Fprintf(&s, "campaign       %s, %s\n", r.Board, r.Root)
	if len(r.FirstMoves) > 0 {
		fmt.Fprintf(&s, "first moves    %s\n", strings.Join(r.FirstMoves, " "))
	}
	fmt.Fprintf(&s, "records        %d tree positions, %d facts, %d certificates of %s\n", r.TreePositions, r.Facts, r.Certificates, cli.FormatSize(int64(r.CertificateBytes)))
	fmt.Fprintf(&s, "nodes          %d\n", r.Nodes)
	switch {
	case r.Contradiction != "":
		fmt.Fprintf(&s, "stopped        %s\n", r.Contradiction)
	case !r.Settled:
		fmt.Fprintf(&s, "settled        no: there is no certificate to check yet\n")
	case r.Winner == "":
		fmt.Fprintf(&s, "settled        no given first move wins\n")
	default:
		fmt.Fprintf(&s, "settled        winner %s\n", r.Winner)
	}
	if r.CertificateFile != "" {
		fmt.Fprintf(&s, "certificate    %s\n", r.CertificateFile)
	} else if r.Settled {
		fmt.Fprintf(&s, "certificate    made from the store for this check\n")
	}
	return s.String()
}

// VerifyStore verifies every record of a store and, if its campaign is settled, the certificate: the file that the store names, if
// it is there, otherwise one that is assembled for the check. The report of the checker is nil for a campaign that is not settled. Nothing
// is written but a temporary file. Errors: those of opening a store; ErrVerification; those of the checker.
func VerifyStore(ctx context.Context, file string, o checker.Options) (StoreReport, *checker.Report, error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return StoreReport{}, nil, err
	}
	defer s.Close()
	if err := s.Check(); err != nil {
		return StoreReport{}, nil, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	c := s.Campaign()
	stats, err := s.Stats()
	if err != nil {
		return StoreReport{}, nil, err
	}
	report := StoreReport{
		File: file, Board: c.Board, Root: c.Root, FirstMoves: c.FirstMoves, Nodes: stats.Spent, TreePositions: stats.Nodes,
		Facts: stats.Facts, Certificates: stats.Certificates, CertificateBytes: stats.CertificateBytes,
	}
	root, moves, t, err := storedTree(s)
	if err != nil {
		return report, nil, err
	}
	status := t.Status()
	if status.Contradiction != nil {
		report.Contradiction = status.Contradiction.String()
		return report, nil, fmt.Errorf("%w: %s", ErrVerification, report.Contradiction)
	}
	if report.Settled = status.Settled; !report.Settled {
		return report, nil, nil
	}
	if status.Outcome != tree.Unknown {
		report.Winner = cli.WinnerName(root, status.Outcome == tree.Won)
	}
	roots := assemble.Roots(root, moves, tree.Settled{Outcome: status.Outcome, NoGivenMoveWins: status.NoGivenMoveWins})
	o.RulesOnly = o.RulesOnly || c.RulesOnly
	f := &Farm{options: Options{Root: root, FirstMoves: moves, RulesOnly: c.RulesOnly}, store: s}
	name, remove, err := f.finalCertificate(ctx, t, roots)
	if remove != nil {
		defer remove()
	} else {
		report.CertificateFile = name
	}
	if err != nil {
		return report, nil, err
	}
	checked, err := checker.CheckFile(ctx, name, o)
	if err != nil {
		return report, nil, err
	}
	if err := f.claims(checked, roots); err != nil {
		return report, nil, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	return report, checked, nil
}

// finalCertificate returns the file of a settled campaign's certificate: the one that the store names, if it is there, otherwise one that is made
// from the store and that remove takes away; remove is nil for the first. Errors wrap ErrVerification: the file is another one than the store
// names, or fragments are missing.
func (f *Farm) finalCertificate(ctx context.Context, t *tree.Tree, roots []proof.Root) (name string, remove func(), err error) {
	if r, ok, err := f.store.Result(); err != nil {
		return "", nil, err
	} else if name := r.Certificate.Path; ok && name != "" {
		if _, err := os.Stat(name); err == nil {
			f.options.ProofFile = name
			if !f.unchanged(r.Certificate) {
				return name, nil, fmt.Errorf("%w: %s is not the certificate that the store names, whose sha256 is %s", ErrVerification, name, r.Certificate.SHA256)
			}
			return name, nil, nil
		}
	}
	fragments, err := f.fragments()
	if err != nil {
		return "", nil, err
	}
	in := assemble.Input{Board: f.options.Root.Board, RulesOnly: f.options.RulesOnly, Roots: roots, Fragments: fragments}
	for n := range t.WonNodes() {
		in.Won = append(in.Won, n)
	}
	folder, err := os.MkdirTemp("", "amazons-certificate-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { os.RemoveAll(folder) }
	name = filepath.Join(folder, "certificate")
	if _, err := assemble.Write(ctx, name, in); err != nil {
		remove()
		if errors.Is(err, assemble.ErrMissing) {
			err = fmt.Errorf("%w: %w", ErrVerification, err)
		}
		return "", nil, err
	}
	return name, remove, nil
}

// ErrUnsettled is wrapped by ReadCertificate for a campaign that has no answer yet.
var ErrUnsettled = errors.New("the campaign is not settled, so there is no certificate yet")

// ReadCertificate reads the certificate of a settled campaign from its file or, where that is gone, from what its store holds. from says which.
// It does not check it. Nothing is written but a temporary file. Errors: those of opening a store; ErrUnsettled; ErrVerification; those of proof.Read.
func ReadCertificate(ctx context.Context, file string) (c proof.Certificate, from string, err error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return c, "", err
	}
	defer s.Close()
	root, moves, t, err := storedTree(s)
	if err != nil {
		return c, "", err
	}
	status := t.Status()
	if !status.Settled {
		return c, "", fmt.Errorf("%s: %w", file, ErrUnsettled)
	}
	f := &Farm{options: Options{Root: root, FirstMoves: moves, RulesOnly: s.Campaign().RulesOnly}, store: s}
	from, remove, err := f.finalCertificate(ctx, t, assemble.Roots(root, moves, tree.Settled{Outcome: status.Outcome, NoGivenMoveWins: status.NoGivenMoveWins}))
	if err != nil {
		return c, from, err
	}
	name := from
	if remove != nil {
		defer remove()
		from = file
	}
	c, err = proof.ReadFile(name)
	return c, from, err
}

// storedTree makes the tree of a store's campaign, and tells its root and the first moves that were given.
func storedTree(s *store.Store) (root amazons.Position, moves []amazons.Move, t *tree.Tree, err error) {
	c := s.Campaign()
	if root, err = amazons.ParsePosition(c.Root); err != nil {
		return root, nil, nil, fmt.Errorf("%w: root of the campaign: %w", ErrVerification, err)
	}
	for _, text := range c.FirstMoves {
		m, err := root.ParseMove(text)
		if err != nil {
			return root, nil, nil, fmt.Errorf("%w: first move of the campaign: %w", ErrVerification, err)
		}
		moves = append(moves, m)
	}
	snapshot, err := s.Snapshot()
	if err != nil {
		return root, nil, nil, err
	}
	if t, err = tree.New(tree.Config{Board: root.Board, Root: root, FirstMoves: moves}, snapshot); err != nil {
		return root, nil, nil, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	return root, moves, t, nil
}

// Reader reads the campaign of a store that no master has open. Nothing is written.
type Reader struct {
	Root  amazons.Position
	Tree  *tree.Tree
	store *store.Store
	look  *library
}

// OpenReader opens a store for reading. Errors: those of opening a store; ErrVerification.
func OpenReader(file string) (*Reader, error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	root, _, t, err := storedTree(s)
	var h *shelf
	if err == nil {
		h, err = newShelf(s)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Reader{Root: root, Tree: t, store: s, look: newLibrary(root.Board, s.Campaign().RulesOnly, s, h.list)}, nil
}

// Explore tells what is known of the last position of a way of positions, each after a move from the one before.
func (r *Reader) Explore(way []amazons.Position) *farmv1.ExploreResponse {
	return rpc.ExploreTree(way, r.Tree, r.look.Look)
}

// Close closes the store.
func (r *Reader) Close() error { return r.store.Close() }
