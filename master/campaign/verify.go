package campaign

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"amazonsfarm/master/assemble"
	"amazonsfarm/master/checks"
	"amazonsfarm/master/explore"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/store"
	"amazonsfarm/master/store/report"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// StoreReport says what VerifyStore found. Its own Question and Outcome are those of the first campaign; Campaigns
// has those of all.
type StoreReport struct {
	File string `json:"file"`
	report.Question
	Nodes uint64 `json:"nodes"` // spent, by all campaigns
	report.Records
	Outcome

	Campaigns []CampaignReport `json:"campaigns"`
}

// Outcome says how a campaign ended.
type Outcome struct {
	Settled bool   `json:"settled"`
	Winner  string `json:"winner,omitempty"`
	// what was checked; empty: made from the store for the check
	CertificateFile string `json:"certificate_file,omitempty"`
	Contradiction   string `json:"contradiction,omitempty"`
}

// CampaignReport says what VerifyStore found of one campaign.
type CampaignReport struct {
	Name string `json:"name"`
	report.Question
	Nodes uint64 `json:"nodes"`
	Outcome
	Checked *checker.Report `json:"checked,omitempty"` // nil: it is not settled
}

// String returns the report in a few lines for people.
func (r *StoreReport) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "store          %s: every record is good\n", r.File)
	if len(r.Campaigns) <= 1 {
		s.WriteString(r.Question.Lines(""))
	}
	fmt.Fprintf(&s, "%s\nnodes          %d\n", r.Records.Text(), r.Nodes)
	for i := range r.Campaigns {
		c := &r.Campaigns[i]
		if len(r.Campaigns) > 1 {
			fmt.Fprintf(&s, "%snodes          %d\n", c.Question.Lines(c.Name+": "), c.Nodes)
		}
		c.write(&s)
		if len(r.Campaigns) > 1 && c.Checked != nil {
			fmt.Fprint(&s, c.Checked)
		}
	}
	return s.String()
}

// write tells how the campaign ended.
func (r *Outcome) write(s *strings.Builder) {
	switch {
	case r.Contradiction != "":
		fmt.Fprintf(s, "stopped        %s\n", r.Contradiction)
	case !r.Settled:
		fmt.Fprintf(s, "settled        no: there is no certificate to check yet\n")
	case r.Winner == "":
		fmt.Fprintf(s, "settled        no given first move wins\n")
	default:
		fmt.Fprintf(s, "settled        winner %s\n", r.Winner)
	}
	if r.CertificateFile != "" {
		fmt.Fprintf(s, "certificate    %s\n", r.CertificateFile)
	} else if r.Settled {
		fmt.Fprintf(s, "certificate    made from the store for this check\n")
	}
}

// VerifyStore verifies every record of a store and, of each campaign that is settled, the
// certificate: the file that the store names, if it is there, otherwise one that is assembled for
// the check. The report of the checker is that of the first campaign, nil if that is not settled.
// Nothing is written but a temporary folder. Errors: those of opening a store; ErrVerification; those
// of the checker, the first there is.
func VerifyStore(ctx context.Context, file string, o checker.Options) (StoreReport, *checker.Report, error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return StoreReport{}, nil, err
	}
	defer s.Close()
	err = s.Check()
	if errors.Is(err, store.ErrCorrupt) {
		return StoreReport{}, nil, fmt.Errorf("%w: %w%s", ErrVerification, err, needless(s))
	}
	stats, unread := s.Stats()
	if err = cmp.Or(err, unread); err != nil { // such as a bucket that does not answer
		return StoreReport{}, nil, err
	}
	all := StoreReport{File: file, Nodes: stats.Nodes, Records: stats.Records}
	for i, about := range s.Campaigns() {
		asked := report.Question{Board: about.Board, Root: about.Root, FirstMoves: about.FirstMoves}
		r := CampaignReport{Name: about.Name, Question: asked, Nodes: stats.Campaigns[i].Nodes}
		var c *campaign
		var t *tree.Tree
		if c, t, err = stored(s, about); err == nil {
			err = c.verify(ctx, t, o, &r)
		}
		all.Campaigns = append(all.Campaigns, r)
		if err != nil {
			break
		}
	}
	first := all.Campaigns[0]
	all.Question, all.Outcome = first.Question, first.Outcome
	return all, first.Checked, err
}

// needless says of a store without some of its parts which certificates need none of them.
func needless(s *store.Store) (text string) {
	if missing, _, err := s.MissingParts(); err != nil || len(missing) == 0 {
		return ""
	}
	for _, about := range s.Campaigns() {
		if name, err := keptCertificate(s, about); err == nil && name != "" {
			text += fmt.Sprintf("; %s needs no part of the store: %s verify %s", name, cli.Program("master"),
				cli.Quoted(name))
		}
	}
	return text
}

// Whole reports whether a certificate was checked, and whole: one's, or those of all settled campaigns of a store, or
// both. Either may be nil. missing is the first error that checker.Report.Missing returns for them.
func Whole(one *checker.Report, s *StoreReport) (verified bool, missing error) {
	all := []*checker.Report{one}
	if s != nil {
		for _, c := range s.Campaigns {
			all = append(all, c.Checked)
		}
	}
	all = slices.DeleteFunc(all, func(r *checker.Report) bool { return r == nil }) // of a campaign that is open
	verified = len(all) > 0
	for _, r := range all {
		verified, missing = verified && r.Complete(), cmp.Or(missing, r.Missing())
	}
	return verified, missing
}

// verify checks the certificate of a campaign, if it is settled.
func (c *campaign) verify(ctx context.Context, t *tree.Tree, o checker.Options, r *CampaignReport) error {
	status := t.Status()
	if status.Contradiction != nil {
		r.Contradiction = status.Contradiction.String()
		return fmt.Errorf("%w: %s", ErrVerification, r.Contradiction)
	}
	if r.Settled = status.Settled; !r.Settled {
		return nil
	}
	r.Winner = cli.WinnerName(c.root, status.Verdict)
	roots := assemble.Roots(c.root, c.firstMoves, t.Answer())
	o.RulesOnly = o.RulesOnly || c.about.RulesOnly
	name, remove, err := c.finalCertificate(ctx, t, roots)
	if remove != nil {
		defer remove()
	} else {
		r.CertificateFile = name
	}
	if err != nil {
		return err
	}
	checked, err := checker.CheckFile(ctx, name, o)
	if err != nil {
		return err
	}
	// The checker says what the file proves, not whether this was asked.
	if err := c.claims(checked, roots); err != nil {
		return fmt.Errorf("%w: %w", ErrVerification, err)
	}
	r.Checked = checked
	return nil
}

// finalCertificate returns the file of a settled campaign's certificate: the one that the store
// names, if it is there, otherwise one that is made from the store and that remove takes away;
// remove is nil for the first. Errors wrap ErrVerification: the file is another one than the store
// names, or parts are missing.
func (c *campaign) finalCertificate(ctx context.Context, t *tree.Tree, roots []proof.Root) (name string, remove func(),
	err error) {
	if name, err := keptCertificate(c.farm.store, c.about); err != nil || name != "" {
		return name, nil, err
	}
	p, err := c.gather(ctx, roots, slices.Collect(t.WonNodes()))
	if err != nil {
		return "", nil, lacking(err)
	}
	const temporary = ".amazons-certificate-*.tmp"
	folder, err := os.MkdirTemp(filepath.Dir(c.farm.store.Path()), temporary) // where parts are linked, not copied
	if err != nil {
		folder, err = os.MkdirTemp("", temporary)
	}
	if err != nil {
		return "", nil, err
	}
	name = filepath.Join(folder, "made.proof")
	if c.packs(p) { // a larger proof stays in parts
		_, err = c.pack(ctx, name, p, nil)
	} else {
		_, err = c.publish(name, p, true)
	}
	remove = func() { os.RemoveAll(folder) }
	if err != nil {
		remove()
		return "", nil, lacking(err)
	}
	return name, remove, nil
}

// keptCertificate returns the file of the certificate that a store names for a campaign, "" where it is not there.
// The error wraps ErrVerification where another file lies in its place.
func keptCertificate(s *store.Store, about store.Campaign) (name string, err error) {
	r, ok, err := s.Result(about.Number)
	if name = r.Certificate.Path; err != nil || !ok || name == "" {
		return "", err
	}
	// A store that has moved has its certificate beside it, and another one may lie at the old place.
	if beside := ProofFileOf(s.Path(), about); unchanged(beside, r.Certificate) {
		return beside, nil
	}
	if _, err := os.Stat(name); err != nil {
		return "", nil
	}
	if !unchanged(name, r.Certificate) {
		return name, fmt.Errorf("%w: %s is not the certificate that the store names, whose sha256 is %s; "+
			"\"master serve\" or \"master solve\" writes it anew", ErrVerification, name, r.Certificate.SHA256)
	}
	return name, nil
}

// lacking says of an error about evidence that is missing or false that it is one of the answer.
func lacking(err error) error {
	if _, wrong := errors.AsType[*checks.FalsePartsError](err); wrong || errors.Is(err, assemble.ErrMissing) {
		return fmt.Errorf("%w: %w", ErrVerification, err)
	}
	return err
}

// ReadCertificate reads the certificate of a settled campaign, by its name or the first, from its
// file or, where that is gone, from what its store holds. from says which, also after an error of reading.
// It does not check it.
// Nothing is written but a temporary folder. Errors: those of opening a store; store.ErrCampaign;
// ErrVerification; those of proof.ReadWhole.
func ReadCertificate(ctx context.Context, file, name string) (c proof.Certificate, from string, err error) {
	r, err := OpenReader(file, name)
	if err != nil {
		return c, "", err
	}
	defer r.Close()
	of := r.campaign
	if !r.Tree.Answered() {
		return c, "", fmt.Errorf("%s: the campaign is not settled, so there is no certificate yet", file)
	}
	from, remove, err := of.finalCertificate(ctx, r.Tree, assemble.Roots(of.root, of.firstMoves, r.Tree.Answer()))
	if err != nil {
		return c, from, err
	}
	path := from
	if remove != nil {
		defer remove()
		from = file
	}
	c, err = proof.ReadWhole(ctx, path, proof.OneFilePositions)
	return c, from, err
}

// named returns the campaign of a name, the first one for an empty name. Errors wrap store.ErrCampaign.
func named(s *store.Store, name string) (store.Campaign, error) {
	var names []string
	for _, c := range s.Campaigns() {
		if c.Name == name || name == "" {
			return c, nil
		}
		names = append(names, c.Name)
	}
	return store.Campaign{}, fmt.Errorf("%w: there is no campaign %q in the store, but %s", store.ErrCampaign, name,
		strings.Join(names, ", "))
}

// stored makes the tree of a store's campaign.
// Its farm is the store and nothing else: methods that need options, metrics or a loop are not for it.
func stored(s *store.Store, about store.Campaign) (*campaign, *tree.Tree, error) {
	c := &campaign{farm: &Farm{store: s}, about: about}
	var err error
	if c.root, c.firstMoves, err = question(about); err != nil {
		return nil, nil, err
	}
	snap, err := snapshot(s, about, c.root)
	if err != nil {
		return nil, nil, err
	}
	t, err := tree.New(tree.Config{Root: c.root, FirstMoves: c.firstMoves}, snap)
	if err != nil {
		return nil, nil, fmt.Errorf("%w: %w", ErrVerification, err)
	}
	return c, t, nil
}

// Reader reads a campaign of a store that no master has open. Nothing is written.
type Reader struct {
	Root     amazons.Position
	Tree     *tree.Tree
	campaign *campaign
	look     *library
}

// OpenReader opens a store for reading one of its campaigns, by its name or the first. Errors:
// those of opening a store; store.ErrCampaign; ErrVerification.
func OpenReader(file, name string) (*Reader, error) {
	s, err := store.Open(file, store.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	about, err := named(s, name)
	var c *campaign
	var t *tree.Tree
	if err == nil {
		c, t, err = stored(s, about)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	look := newLibrary(c.root.Board, about, s)
	return &Reader{Root: c.root, Tree: t, campaign: c, look: look}, nil
}

// Explore tells what is known of the last position of a way of positions, each after a move from
// the one before.
func (r *Reader) Explore(way []amazons.Position) *farmv1.ExploreResponse {
	return rpc.ExploreMessage(way[len(way)-1], explore.Tree(r.Tree, way).Proving(r.look.Look))
}

// Close closes the store.
func (r *Reader) Close() error { return r.campaign.farm.store.Close() }
