package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"math/rand/v2"
	"sort"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/shared/testkit/reference"
	"amazonsfarm/worker/agent"
	"amazonsfarm/worker/engine"
)

// evidence is the parts that workers deliver. The engine proves some late positions of the board before
// the load. Each proof makes as many parts as it has entries: part i claims the position that was
// proved and entry i, which the same proof proves as well. So each part is a real one with a SHA-256
// of its own, and brings the master one fact that it does not know.
type evidence struct {
	proofs []proved
	next   atomic.Int64 // part to deliver
	all    int64
}

// proved is one of the proofs.
type proved struct {
	first   int64 // number of its first part
	data    []byte
	entries []amazons.Key
	base    []proof.Fact // the position that was proved
}

const (
	// A proof takes this many entries: parts of two to ten kilobytes. A lease of a real farm leaves parts
	// from some hundred bytes to megabytes.
	leastEntries, mostEntries = 300, 3000
	proofNodes                = 20_000 // a position that needs more is passed over
	factNodes                 = 1000   // behind each fact: the least that real workers send
	preamble                  = 48     // bytes of a part before its header (shared/proof/FORMAT.md)
	firstRoot                 = preamble + 20
	rootBytes                 = 24
)

// prepare proves positions until there are so many parts.
func prepare(ctx context.Context, board amazons.Board, parts int64, said func(done int64)) (*evidence, error) {
	start, err := amazons.Start(board)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.Config{Board: board, TableBytes: 64 << 20})
	if err != nil {
		return nil, err
	}
	defer e.Close()
	out := &evidence{}
	random := rand.New(rand.NewPCG(7, 7))
	for out.all < parts && ctx.Err() == nil {
		s := reference.Played(random, start.State(), bits.OnesCount64(start.State().Empty)/2)
		r, err := e.Run(ctx, engine.Job{State: s, Budget: proofNodes}, nil)
		if err != nil || r.Verdict == eval.Open {
			continue // the game was over, or the position is too hard
		}
		e.Forget(false) // so that no part cites another
		made, err := e.Prove(ctx, []proof.Fact{{Key: s.CanonicalKey(board), Verdict: r.Verdict, Nodes: factNodes}}, nil)
		if err != nil {
			return nil, err
		}
		if len(made) != 1 || made[0].Entries < leastEntries || made[0].Entries > mostEntries {
			continue
		}
		if err := out.add(ctx, made[0]); err != nil {
			return nil, err
		}
		said(out.all)
	}
	return out, ctx.Err()
}

// add takes a part of the engine over, and has the checker look at one of those that it makes of it.
func (e *evidence) add(ctx context.Context, from engine.Part) error {
	c, err := proof.Read(bytes.NewReader(from.Data), int64(len(from.Data)))
	if err != nil {
		return err
	}
	p := proved{first: e.all, base: from.Facts}
	for entry := range c.Set.All() {
		if entry.Key != from.Facts[0].Key {
			p.entries = append(p.entries, entry.Key)
		}
	}
	c.Roots = append(c.Roots, c.Roots[0]) // the place of the second claim
	if p.data, err = proof.Encode(c); err != nil {
		return err
	}
	e.proofs, e.all = append(e.proofs, p), e.all+int64(len(p.entries))
	one := p.part(len(p.entries) - 1)
	r, err := checker.Check(ctx, bytes.NewReader(one.Data), int64(len(one.Data)),
		checker.Options{Part: true, Workers: 1})
	if err != nil {
		return fmt.Errorf("a prepared part does not hold: %w", err)
	}
	if len(r.Roots) != 2 {
		return fmt.Errorf("a prepared part has %d claims, not 2", len(r.Roots))
	}
	return nil
}

// part makes a part of a proof: its second claim is an entry.
func (p *proved) part(entry int) engine.Part {
	key := p.entries[entry]
	data := bytes.Clone(p.data)
	root := data[firstRoot+rootBytes:]
	binary.LittleEndian.PutUint64(root, key.A)
	binary.LittleEndian.PutUint64(root[8:], key.B)
	if (proof.Arrows(key)-proof.Arrows(p.base[0].Key))%2 != 0 {
		root[16] ^= 1 // the other side moves
	}
	root[17] = byte(eval.Won)
	proof.Seal(data)
	id := proof.IDOf(data)
	facts := []proof.Fact{p.base[0], {Key: key, Verdict: eval.Won, Nodes: factNodes}}
	for i := range facts {
		facts[i].Certificate = id
	}
	return engine.Part{Facts: facts, Data: data, ID: id}
}

// errNoMore says that all parts are delivered.
var errNoMore = errors.New("all prepared parts are delivered; ask for more with --parts")

// take returns a part that nobody has delivered.
func (e *evidence) take() (engine.Part, error) {
	n := e.next.Add(1) - 1
	if n >= e.all {
		return engine.Part{}, errNoMore
	}
	// Neighbours come from different proofs, as those of different workers do.
	n = n * stride % e.all
	low := sort.Search(len(e.proofs), func(i int) bool { return e.proofs[i].first > n }) - 1
	return e.proofs[low].part(int(n - e.proofs[low].first)), nil
}

// stride is a prime, so that each part has its turn.
const stride = 1_000_003

// upload brings a part to the master, as worker/agent does, and then hands the result that names it on.
func (w *synthetic) upload(ctx context.Context, p engine.Part, then *farmv1.Result) {
	began := time.Now()
	once := func() error {
		return agent.UploadPart(ctx, w.client, w.session, agent.Upload{Part: p}, func(int) {})
	}
	err := once()
	for pause := 100 * time.Millisecond; status.Code(err) == codes.ResourceExhausted; err = once() {
		w.record.fullUp()
		if farm.Wait(ctx, pause) != nil {
			return
		}
		pause = min(2*pause, 10*time.Second)
	}
	if err == nil {
		took := time.Since(began)
		w.record.note(func(t *tally) { t.uploads, t.bytes = append(t.uploads, took), t.bytes+uint64(len(p.Data)) })
	}
	w.hand(ctx, handed{err: err, message: &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Result{Result: then}}})
}

// examine fetches a part and runs the checker on it, as worker/agent does.
func (w *synthetic) examine(ctx context.Context, c *farmv1.Check) {
	out := &farmv1.Checked{Campaign: c.GetCampaign().GetNumber(), Sha256: c.GetSha256()}
	data, err := agent.FetchPart(ctx, w.client, w.session, c)
	for status.Code(err) == codes.ResourceExhausted && ctx.Err() == nil {
		w.record.fullUp()
		time.Sleep(100 * time.Millisecond)
		data, err = agent.FetchPart(ctx, w.client, w.session, c)
	}
	id := proof.IDOf(data)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		out.Failed = err.Error()
	case !bytes.Equal(id[:], c.GetSha256()):
		out.Failed = "other bytes came"
	default:
		r, err := checker.Check(ctx, bytes.NewReader(data), int64(len(data)), checker.Options{Part: true, Workers: 1})
		if err != nil {
			out.Fault = err.Error()
		} else {
			out.Holds, out.Positions = true, uint64(r.Entries)
		}
	}
	w.record.note(func(t *tally) {
		if t.checked++; !out.Holds {
			t.failed++
		}
	})
	w.hand(ctx, handed{message: &farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: out}}})
}

// handed is what goes beside the worker's stream hands back to it.
type handed struct {
	message *farmv1.WorkRequest
	err     error
}

func (w *synthetic) hand(ctx context.Context, h handed) {
	select {
	case w.hands <- h:
	case <-ctx.Done():
	}
}
