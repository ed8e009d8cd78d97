package simulate

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/agent"
)

// slice is what worker/engine does for one Search of the machine: rounds of as many
// nodes as a first lease has. Between two the worker notices what has come.
type slice struct {
	agent.Search
	begun       time.Duration
	nodes       uint64 // of rounds that ended
	evaluations uint64
	stopped     bool
	roundBegun  time.Duration
	roundNodes  uint64
}

// solved is a position that the search solved on the way.
type solved struct {
	state   amazons.State
	verdict eval.Verdict
	nodes   uint64
}

// vouched names the certificate of all facts: evidence is not simulated.
var vouched = proof.ID{1}

// equip gives a worker its table and its search, which outlive its crashes: only their content is
// lost. With a shared table all workers have those of the first.
func (w *worker) equip() (err error) {
	if first := w.workers[0]; w.c.SharedTable && first.table != nil {
		w.table, w.search, w.solved = first.table, first.search, first.solved
		return nil
	}
	if w.table, err = dfpn.NewTable(w.c.TableBytes); err != nil {
		return fmt.Errorf("reserve table: %w", err)
	}
	found := new([]solved)
	w.solved = found
	w.search = dfpn.New(dfpn.Options{
		Board: w.c.Tree.Root.Board, Table: w.table, Judge: w.judge, MinSolvedNodes: max(1, minFactNodes/w.c.Scale),
		OnSolved: func(s amazons.State, v eval.Verdict, nodes uint64) { *found = append(*found, solved{s, v, nodes}) },
	})
	return nil
}

// close gives the table back, unless it is another worker's.
func (w *worker) close() error {
	if w.table == nil || w.c.SharedTable && w.number > 0 {
		return nil
	}
	return w.table.Close()
}

// begin begins a slice.
func (w *worker) begin(e agent.Search) error {
	if err := w.learn(e.Job.Facts); err != nil {
		return err
	}
	for _, m := range e.Job.Hints {
		if _, err := w.table.AddHints(w.c.Tree.Root.Board, m, false); err != nil {
			return err
		}
	}
	w.slice = &slice{Search: e, begun: w.now}
	w.round()
	return nil
}

// learn tells the table facts of others.
func (w *worker) learn(facts []proof.Fact) error {
	for _, f := range facts {
		s, err := f.Key.State(w.c.Tree.Root.Board)
		if err != nil {
			return err
		}
		w.search.Insert(s, f.Verdict, f.Nodes)
	}
	return nil
}

// round searches for one round, and plans its end.
func (w *worker) round() {
	s := w.slice
	budget := min(w.c.Tree.InitialBudget, s.Job.Budget-s.nodes)
	parent := s.Job.Parent
	if s.nodes > 0 {
		parent = nil
	}
	r := w.search.SearchBelow(context.Background(), parent, s.Job.State, budget)
	s.roundBegun, s.roundNodes = w.now, r.Nodes
	w.after(max(w.takes(r.Nodes), time.Nanosecond), func() error {
		if w.slice != s {
			return nil // it crashed
		}
		w.account()
		s.evaluations += r.Evaluations
		// A real search notices a cancel after some nodes. Here it notices at the end of a round,
		// which is why a round is as short as a first lease.
		interrupted := s.stopped || w.now-s.begun >= s.Limit
		if r.Verdict == eval.Open && r.Nodes > 0 && s.nodes < s.Job.Budget && !interrupted {
			w.round()
			return nil
		}
		w.slice = nil
		r.Nodes, r.Evaluations = s.nodes, s.evaluations
		return w.tell(agent.Searched{Result: w.found(s, r), Interrupted: interrupted})
	})
}

// found is the result of a slice as an engine would report it.
func (w *worker) found(s *slice, r dfpn.Result) agent.Result {
	out := agent.Result{Verdict: r.Verdict, Phi: r.Phi, Delta: r.Delta, Nodes: r.Nodes, Evaluations: r.Evaluations,
		Solved: w.takeSolved()}
	if r.Verdict == eval.Open {
		for _, c := range w.search.Children(s.Job.State) {
			out.Children = append(out.Children, numbers.Child{Key: c.State.CanonicalKey(w.c.Tree.Root.Board),
				Phi: c.Phi, Delta: c.Delta})
		}
	}
	if w.position = s.Job.State; r.Verdict != eval.Open {
		w.ended() // its evidence may be gathered with that of others
	}
	return out
}

// takeSolved returns what was solved since the last time: the positions with most work, each once.
func (w *worker) takeSolved() []proof.Fact {
	slices.SortStableFunc(*w.solved, func(a, b solved) int { return cmp.Compare(b.nodes, a.nodes) })
	var out []proof.Fact
	met := map[amazons.Key]bool{}
	for _, s := range *w.solved {
		if len(out) == maxFacts {
			break
		}
		if k := s.state.CanonicalKey(w.c.Tree.Root.Board); !met[k] {
			met[k] = true
			out = append(out, proof.Fact{Key: k, Verdict: s.verdict, Nodes: s.nodes})
		}
	}
	*w.solved = (*w.solved)[:0]
	return out
}

// extraction returns how long a worker extracts evidence: for what it has searched since the last time,
// within the limit that the machine sets where its lease is still open.
func (w *worker) extraction(e agent.Gather) time.Duration {
	if len(e.Facts) == 0 {
		return 0
	}
	d := w.unproved
	if e.Limit > 0 {
		d = min(d, e.Limit)
	}
	w.unproved -= d
	return d
}

// later tells the machine what was gathered, after a time.
func (w *worker) later(d time.Duration, g agent.Event) {
	w.farm.proved += d
	w.proving = w.now + d
	w.proofs++
	n := w.proofs
	w.after(d, func() error {
		if w.machine == nil || w.proofs != n {
			return nil // it was stopped, or crashed
		}
		return w.tell(g)
	})
}

// stopProof ends the extraction under way, whose evidence is lost. It returns false where there is none.
func (w *worker) stopProof() bool {
	left := w.proving - w.now
	if left <= 0 {
		return false
	}
	w.farm.proved -= left
	w.unproved += left
	w.proving = w.now
	w.proofs++
	return true
}

// gather proves everything, and asks the table for hints. Without failures nobody reads
// hints before the result brings them anew; a lone worker has its own.
func (w *worker) gather(e agent.Gather) agent.Event {
	var g agent.Gathered
	if len(e.Facts) > 0 {
		g.Parts = []agent.Part{{Facts: e.Facts, ID: vouched}}
	}
	proved := slices.ContainsFunc(e.Facts, func(f proof.Fact) bool { return f.Key == e.Key })
	others := w.c.Workers > 1 || w.c.CrashRate > 0
	read := e.Last || w.c.CrashRate+w.c.LossRate > 0 && len(e.Facts) > 0
	if !proved && e.Key != (amazons.Key{}) && others && read && w.c.HintEntries > 0 {
		g.Hints = w.search.Hints(w.position, w.c.HintEntries)
	}
	if e.Last && e.Key != (amazons.Key{}) {
		w.ended()
	}
	return g
}

// takes returns how long the worker searches so many nodes.
func (w *worker) takes(nodes uint64) time.Duration {
	return time.Duration(float64(nodes) / w.speed * float64(time.Second))
}

// inRound returns the nodes of the running round until now.
func (s *slice) inRound(w *worker) uint64 {
	return min(s.roundNodes, uint64(math.Round((w.now-s.roundBegun).Seconds()*w.speed)))
}

// account counts what the running round has searched so far.
func (w *worker) account() {
	s := w.slice
	if s == nil {
		return
	}
	n := s.inRound(w)
	w.farm.nodes += n
	took := w.now - s.roundBegun
	w.busy += took
	w.unproved += time.Duration(float64(took) * w.c.ExtractShare)
	w.leased += n
	s.nodes, s.roundNodes, s.roundBegun = s.nodes+n, 0, w.now
}

// leaseOf is a lease as the master sends it.
func leaseOf(l tree.Lease, hints [][]byte) *farmv1.WorkResponse {
	return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: &farmv1.Lease{Id: uint64(l.ID), Epoch: l.Epoch,
		Key: farmv1.WriteKey(l.Key), Parent: farmv1.WriteParent(l.Parent), BudgetNodes: l.Budget, Patient: l.Patient,
		Facts: farmv1.WriteFacts(l.Facts), Hints: hints}}}
}

// cancelOf is a Cancel as the master sends it.
func cancelOf(e tree.Cancel) *farmv1.WorkResponse {
	return &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{Lease: uint64(e.Lease),
		Reason: e.Reason.String()}}}
}

// treeFacts reads facts of a message of a virtual worker, which are well formed.
func treeFacts(list []*farmv1.Fact) []proof.Fact {
	facts := make([]proof.Fact, len(list))
	for i, f := range list {
		k, _ := amazons.KeyFromBytes(f.Key) // of the machine: it has the right length
		facts[i] = proof.Fact{Key: k, Verdict: eval.Verdict(f.Verdict), Nodes: max(1, f.Nodes), Certificate: vouched}
	}
	return facts
}

// provedBy is a Facts as the tree hears of it.
func provedBy(name string, m *farmv1.Facts) tree.Event {
	return tree.Proved{Worker: name, Lease: tree.LeaseID(m.Lease), Epoch: m.Epoch, Nodes: m.Nodes,
		Facts: treeFacts(m.Facts), Certificates: []proof.ID{vouched}}
}

// resultOf is a Result as the tree hears of it.
func resultOf(name string, m *farmv1.Result) tree.Event {
	k, _ := amazons.KeyFromBytes(m.Key)
	return tree.Result{Worker: name, Lease: tree.LeaseID(m.Lease), Epoch: m.Epoch, Key: k,
		Verdict: eval.Verdict(m.Verdict), Phi: m.Phi, Delta: m.Delta, Nodes: m.Nodes, Children: m.Children,
		Facts: treeFacts(m.Facts), Certificates: []proof.ID{vouched}, Cancelled: m.Cancelled}
}
