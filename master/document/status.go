//go:build !js

package document

import (
	"amazonsfarm/master/tree/graph"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
)

// Status is how far a campaign is.
type Status struct {
	MessageType  string           `json:"message_type"` // "status"
	Campaign     string           `json:"campaign"`     // its name
	Priority     int32            `json:"priority"`
	Share        uint32           `json:"share"`
	Board        string           `json:"board"`
	Root         string           `json:"root"`
	State        string           `json:"state"`
	Why          string           `json:"why"`
	Winner       string           `json:"winner"`
	Phi          uint32           `json:"proof_number"`
	Delta        uint32           `json:"disproof_number"`
	Nodes        uint64           `json:"nodes"`
	RunningNodes uint64           `json:"running_nodes"`
	Seconds      float64          `json:"seconds"`
	TreeNodes    uint64           `json:"tree_positions"`
	Frontier     uint64           `json:"frontier"`
	Leased       uint64           `json:"leased"`
	SetAside     uint64           `json:"set_aside"`
	FactsWon     uint64           `json:"facts_won"`
	FactsLost    uint64           `json:"facts_lost"`
	Parts        uint64           `json:"parts"` // in the store, of all campaigns
	PartBytes    uint64           `json:"part_bytes"`
	Workers      uint32           `json:"workers"`
	FirstMoves   []FirstMove      `json:"first_moves,omitempty"`
	MovesKnown   int              `json:"first_moves_known"` // of all first moves, those whose outcome is known
	MovesAll     int              `json:"first_moves_all"`
	Verified     bool             `json:"verified"`
	VerifiedBy   string           `json:"verified_by,omitempty"` // workers, where this machine's checker did not
	Certificate  *cli.Certificate `json:"certificate,omitempty"`
	ProofParts   int              `json:"certificate_parts,omitempty"` // on pages: of a certificate that is a manifest
	Store        string           `json:"store"`
	Quarantined  uint32           `json:"quarantined"`
	Phase        *Phase           `json:"phase,omitempty"` // what is done now
	Evidence     float64          `json:"evidence"`        // share of the nodes in running leases; see outlook.Outlook
}

// Phase is what is being done, and how much of it.
type Phase struct {
	Name  string `json:"name"` // searching, extracting, delivering, verifying, assembling or checking
	Done  uint64 `json:"done"` // first moves decided, positions proved or checked, bytes of parts, or parts
	Total uint64 `json:"total,omitempty"`
}

// ofPhase makes the document of a phase, nil where there is none.
func ofPhase(p *farmv1.Phase) *Phase {
	if p == nil {
		return nil
	}
	return &Phase{p.GetName(), p.GetDone(), p.GetTotal()}
}

// FirstMove is a move of the root.
type FirstMove struct {
	Move     string `json:"move"`
	Verdict  string `json:"outcome"`         // wins, loses or open, for the side that plays it
	Phi      uint32 `json:"proof_number"`    // of the position after it
	Delta    uint32 `json:"disproof_number"` // of the position after it
	Nodes    uint64 `json:"nodes"`
	Leased   bool   `json:"leased,omitempty"`
	Expanded bool   `json:"expanded,omitempty"`
	Claimed  bool   `json:"claimed,omitempty"` // an archive says who wins, without the part that proves it
}

// OfStatus makes the document of a master's answer. It lists every first move, or those that
// something is known of or that were given.
func OfStatus(r *farmv1.StatusResponse, every bool) Status {
	out := Status{
		MessageType: "status", Campaign: r.GetCampaign().GetName(), Priority: r.GetPriority(), Share: r.GetShare(),
		Board: r.GetCampaign().GetBoard(), Root: r.GetCampaign().GetRoot(), State: r.GetState(), Why: r.GetWhy(),
		Winner: r.GetWinner(), Phi: r.GetRootPhi(), Delta: r.GetRootDelta(), Nodes: r.GetNodes(),
		RunningNodes: r.GetRunningNodes(), Seconds: r.GetSeconds(), TreeNodes: r.GetTreePositions(),
		Frontier: r.GetFrontier(), Leased: r.GetLeased(), SetAside: r.GetSetAside(), FactsWon: r.GetFactsWon(),
		FactsLost: r.GetFactsLost(), Parts: r.GetCertificates(), PartBytes: r.GetCertificateBytes(),
		Workers: r.GetWorkers(), Verified: r.GetVerified(), VerifiedBy: r.GetVerifiedBy(), Store: r.GetStoreFile(),
		Quarantined: r.GetQuarantined(), Phase: ofPhase(r.GetPhase()), Evidence: r.GetEvidence(),
	}
	out.MovesAll = len(r.GetFirstMoves())
	for _, f := range r.GetFirstMoves() {
		if f.GetVerdict() != farmv1.Verdict_VERDICT_UNSPECIFIED {
			out.MovesKnown++
		} else if !every && f.GetPhi() == 1 && f.GetDelta() == 1 && f.GetNodes() == 0 &&
			len(r.GetCampaign().GetFirstMoves()) == 0 {
			continue
		}
		out.FirstMoves = append(out.FirstMoves, FirstMove{f.GetMove(), FirstMoveWord(f), f.GetPhi(), f.GetDelta(),
			f.GetNodes(), f.GetLeased(), f.GetExpanded(), !f.GetExpanded() && graph.IsClaim(f.GetPhi(), f.GetDelta())})
	}
	if r.GetCertificateSha256() != "" {
		out.Certificate = &cli.Certificate{Positions: r.GetCertificatePositions(),
			Bytes: int64(r.GetCertificateFileBytes()), SHA256: r.GetCertificateSha256(), File: r.GetCertificateFile()}
	}
	return out
}

// FirstMoveWord says what a first move does for the side that plays it: wins, loses or open.
func FirstMoveWord(f *farmv1.FirstMove) string { return eval.MoveWord(verdict(f.GetVerdict()).Other()) }

// Worker is one worker and what it does.
type Worker struct {
	Name       string  `json:"name"`
	Cores      uint32  `json:"cores"`
	TableBytes uint64  `json:"table_bytes"`
	TableFill  float64 `json:"table_fill"` // 0 to 1
	Connected  float64 `json:"connected_seconds"`
	Silent     float64 `json:"silent_seconds"` // since it was last heard
	Nodes      uint64  `json:"nodes"`          // in all results
	Results    uint64  `json:"results"`
	Facts      uint64  `json:"facts"`
	Confirmed  uint64  `json:"confirmed"` // results of its party that others confirmed
	// results of its party that others contradict and that none confirmed makes up for
	Contradicted uint32  `json:"contradicted"`
	Offences     uint32  `json:"offences"`           // of its party
	Lease        uint64  `json:"lease,omitempty"`    // what follows is of this lease
	Campaign     string  `json:"campaign,omitempty"` // its name
	Position     string  `json:"position,omitempty"` // that it searches
	LeaseNodes   uint64  `json:"lease_nodes,omitempty"`
	BudgetNodes  uint64  `json:"budget_nodes,omitempty"`
	LeaseSeconds float64 `json:"lease_seconds,omitempty"`
	Phase        *Phase  `json:"phase,omitempty"` // of the lease, where it is not searching
}

// OfWorkers makes the documents of a master's answer. Addresses and builds are left out: pages may
// be open to more people than commands.
func OfWorkers(list []*farmv1.Worker) []Worker {
	out := make([]Worker, 0, len(list))
	for _, w := range list {
		out = append(out, Worker{
			Name: w.GetName(), Cores: w.GetCores(), TableBytes: w.GetTableBytes(), TableFill: w.GetTableFill(),
			Connected: w.GetConnectedSeconds(), Silent: w.GetSilentSeconds(), Nodes: w.GetNodes(),
			Results: w.GetResults(), Facts: w.GetFacts(),
			Confirmed: w.GetConfirmed(), Contradicted: w.GetContradicted(), Offences: w.GetOffences(),
			Lease: w.GetLease(), Campaign: w.GetCampaign(), Position: w.GetPosition(), LeaseNodes: w.GetLeaseNodes(),
			BudgetNodes: w.GetBudgetNodes(), LeaseSeconds: w.GetLeaseSeconds(), Phase: ofPhase(w.GetPhase()),
		})
	}
	return out
}

// Campaigns are all campaigns of a master.
type Campaigns struct {
	MessageType string     `json:"message_type"` // "campaigns"
	Campaigns   []Campaign `json:"campaigns"`    // by number
}

// Campaign is what tells a campaign from others.
type Campaign struct {
	Name         string `json:"name"`
	Number       uint32 `json:"number"`
	Board        string `json:"board"`
	Root         string `json:"root"`
	RulesOnly    bool   `json:"rules_only,omitempty"`
	Priority     int32  `json:"priority"`
	Share        uint32 `json:"share"`
	State        string `json:"state"`
	Why          string `json:"why"`
	Winner       string `json:"winner,omitempty"`
	Verified     bool   `json:"verified"`
	Phi          uint32 `json:"proof_number"`
	Delta        uint32 `json:"disproof_number"`
	Nodes        uint64 `json:"nodes"`
	RunningNodes uint64 `json:"running_nodes"`
	Leased       uint64 `json:"leased"`
}

// OfCampaigns makes the document of a master's answer.
func OfCampaigns(all []*farmv1.CampaignSummary) Campaigns {
	out := Campaigns{MessageType: "campaigns", Campaigns: []Campaign{}}
	for _, c := range all {
		about := c.GetCampaign()
		out.Campaigns = append(out.Campaigns, Campaign{
			Name: about.GetName(), Number: about.GetNumber(), Board: about.GetBoard(), Root: about.GetRoot(),
			RulesOnly: about.GetRulesOnly(), Priority: c.GetPriority(), Share: c.GetShare(), State: c.GetState(),
			Why: c.GetWhy(), Winner: c.GetWinner(), Verified: c.GetVerified(), Phi: c.GetRootPhi(),
			Delta: c.GetRootDelta(), Nodes: c.GetNodes(), RunningNodes: c.GetRunningNodes(), Leased: c.GetLeased(),
		})
	}
	return out
}
