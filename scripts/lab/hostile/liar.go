package main

import (
	"context"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"
)

// liar does what an honest worker does, but for a false part at times: for its first lease, which may be the
// whole question, and for every third one.
func liar(ctx context.Context, c *client) error {
	if err := c.open(ctx); err != nil {
		return err
	}
	for n := 1; ; n++ {
		state, err := c.position(ctx)
		if err != nil {
			return err
		}
		out, err := c.parts.engine.Run(ctx, engine.Job{State: state, Budget: c.lease.GetBudgetNodes()}, nil)
		if err != nil || ctx.Err() != nil {
			return err
		}
		r := &farmv1.Result{Phi: out.Phi, Delta: out.Delta, Nodes: out.Nodes, Evaluations: out.Evaluations}
		if verdict := out.Verdict; n%3 == 1 {
			lie := eval.Won
			if verdict == eval.Won {
				lie = eval.Lost
			}
			data, fact, err := c.parts.claim(state, lie)
			if err != nil {
				return err
			}
			if _, err := c.upload(ctx, data); err != nil {
				return err
			}
			r.Verdict, r.Facts = farmv1.WriteVerdict(lie), farmv1.WriteFacts([]proof.Fact{fact})
		} else if verdict != eval.Open {
			made, err := c.parts.engine.Prove(ctx, []proof.Fact{{Key: state.CanonicalKey(c.board), Verdict: verdict,
				Nodes: out.Nodes}}, nil)
			if err != nil {
				return err
			}
			for _, p := range made {
				if _, err := c.upload(ctx, p.Data); err != nil {
					return err
				}
				r.Facts = append(r.Facts, farmv1.WriteFacts(p.Facts)...)
			}
			r.Verdict = farmv1.WriteVerdict(verdict)
		}
		if err := c.result(r); err != nil {
			return err
		}
		c.parts.engine.Forget(false)
	}
}
