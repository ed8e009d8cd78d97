package main

import (
	"cmp"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"
)

// liar does what an honest worker does, but for a false part at times: for its first lease, which may be the
// whole question, and for every third one.
func liar(c *client) {
	c.open()
	for n := 1; c.ok(); n++ {
		state := c.position()
		if !c.ok() {
			return
		}
		out, err := c.parts.engine.Run(c.ctx, engine.Job{State: state, Budget: c.lease.GetBudgetNodes()}, nil)
		c.fail(err)
		r := &farmv1.Result{Phi: out.Phi, Delta: out.Delta, Nodes: out.Nodes, Evaluations: out.Evaluations}
		switch verdict := out.Verdict; {
		case !c.ok():
			return
		case n%3 == 1:
			lie := cmp.Or(verdict.Other(), eval.Won)
			data, fact := c.claim(state, lie)
			c.upload(data)
			r.Verdict, r.Facts = farmv1.WriteVerdict(lie), farmv1.WriteFacts([]proof.Fact{fact})
		case verdict != eval.Open:
			made, err := c.parts.engine.Prove(c.ctx, []proof.Fact{{Key: state.CanonicalKey(c.board), Verdict: verdict,
				Nodes: out.Nodes}}, nil)
			c.fail(err)
			for _, p := range made {
				c.upload(p.Data)
				r.Facts = append(r.Facts, farmv1.WriteFacts(p.Facts)...)
			}
			r.Verdict = farmv1.WriteVerdict(verdict)
		}
		c.result(r)
		c.parts.engine.Forget(false)
	}
}
