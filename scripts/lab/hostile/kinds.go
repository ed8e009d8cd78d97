package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	mathrand "math/rand/v2"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

// deed is what a client does, until ctx ends or the master has had enough.
type deed func(context.Context, *client) error

// opened has the client join and open its work stream before a deed.
func opened(do deed) deed {
	return func(ctx context.Context, c *client) error {
		if err := c.open(ctx); err != nil {
			return err
		}
		return do(ctx, c)
	}
}

// again repeats a deed after the client has joined and opened its work stream.
func again(do deed) deed {
	return opened(func(ctx context.Context, c *client) error {
		for ctx.Err() == nil {
			if err := do(ctx, c); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

// kind is one way to be hostile. do goes on until ctx ends or the master has had enough; then it is
// called again with a new connection.
type kind struct {
	name string
	what string
	do   deed
}

// kinds are all ways. Their order is part of what a seed means: add at the end.
var kinds = []kind{
	{"holder", "holds a lease for ever: reports evaluations+1 each second and ignores Cancel", again(holder)},
	{"mute", "takes leases and never says a word about them", again(mute)},
	{"idler", "joins and never asks for work", again(idler)},
	{"joiner", "joins under ever new names", joiner},
	{"unasked", "delivers valid facts with their parts that nobody asked for", again(unasked)},
	{"hoarder", "uploads valid parts that no fact names", again(hoarder)},
	{"false-win", "claims with a false part that the leased position is won", again(falseWin)},
	{"uncited", "delivers parts that cite what nobody proves", again(citing(5))},
	{"citations", "delivers a part with 200,000 citations and no proof", again(citing(200_000))},
	{"well-formed", "uploads a million well-formed entries that prove nothing", wellFormed},
	{"altered", "uploads parts with a bit changed", again(alteredParts)},
	{"says-false", "says of each part that it does not hold",
		checker(func(m *farmv1.Checked) { m.Fault = "no" })},
	{"says-holds", "says of each part that it holds, without a look",
		checker(func(m *farmv1.Checked) { m.Holds = true })},
	{"says-failed", "says of each part that it cannot be checked",
		checker(func(m *farmv1.Checked) { m.Failed = "no" })},
	{"says-nothing", "takes parts to check and never answers", checker(nil)},
	{"joins-16m", "begins 250 calls of Join with bodies of 16 MiB that do not come", bigJoins},
	{"connections", "keeps 420 connections open that say nothing", connections},
	{"half-uploads", "announces a gigabyte and sends half of it", again(halfUploads)},
	{"slow-uploads", "sends a byte of an upload each second", opened(slowUploads)},
	{"chunks", "sends chunks of 1.9 MiB", opened(bigChunks)},
	{"wrong-digest", "uploads under another part's name", again(wrongDigest)},
	{"replay", "sends one fact and one result again and again", opened(replay)},
	{"nan", "reports a table that is NaN full", opened(nan)},
	{"backward", "reports progress that goes back", again(backward)},
	{"stale", "returns leases of another epoch", opened(stale)},
	{"foreign", "returns leases that others have", opened(foreign)},
	{"ready-flood", "asks for work as fast as it can", again(readyFlood)},
	{"hello-flood", "opens one stream after the other", helloFlood},
	{"campaigns", "names campaigns that there are not", opened(campaigns)},
	{"contradiction", "claims both verdicts of one position", opened(contradiction)},
	{"garbage", "sends random bytes", garbage},
	{"truncated", "sends frames of HTTP/2 that end too early", truncated},
	{"short", "returns each lease at once, as if it was searched", again(short)},
	{"numbers", "returns invented numbers", again(invented)},
	{"no-proof", "says that leases are won, without a proof", again(noProof)},
	{"fetcher", "fetches parts again and again and does not read them", opened(fetcher)},
	{"tiny-parts", "uploads many parts of one entry", again(tinyParts)},
	{"hints", "sends the largest hints that there are, without sense", again(hints)},
	{"deaf", "does not read what it is sent", deaf},
	{"slow-pages", "keeps 4,000 requests for pages open", slowPages},
	{"resets", "begins and resets calls as fast as it can", resets},
	{"liar", "searches its leases well, and proves the first and every third falsely", liar},
}

func find(name string) (kind, error) {
	for _, k := range kinds {
		if k.name == name {
			return k, nil
		}
	}
	return kind{}, fmt.Errorf("there is no kind %q of hostile client; --list names them", name)
}

func holder(ctx context.Context, c *client) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	l := c.lease
	for n := range uint64(30) { // and then one more
		if err := c.progress(&farmv1.Progress{Lease: l.GetId(), Epoch: l.GetEpoch(), Evaluations: 1 + n}); err != nil {
			return err
		}
		if err := c.pause(ctx, time.Second); err != nil {
			return err
		}
	}
	return nil
}

func mute(ctx context.Context, c *client) error { return c.take(ctx) }

func idler(ctx context.Context, c *client) error { return c.pause(ctx, time.Minute) }

func joiner(ctx context.Context, c *client) error {
	name := c.name
	defer func() { c.name = name }()
	for {
		c.name = unique(name+"/", c.random)
		if err := c.join(ctx); err != nil {
			return err
		}
		if err := wait(ctx, 2*time.Millisecond); err != nil {
			return err
		}
	}
}

func unasked(ctx context.Context, c *client) error {
	p, err := c.parts.honest(ctx, c.random)
	if err != nil {
		return err
	}
	if err := c.deliver(ctx, p.Data, p.Facts...); err != nil {
		return err
	}
	return c.pause(ctx, 0)
}

func hoarder(ctx context.Context, c *client) error {
	p, err := c.parts.honest(ctx, c.random)
	if err != nil {
		return err
	}
	_, err = c.upload(ctx, p.Data)
	return err
}

func falseWin(ctx context.Context, c *client) error {
	state, err := c.position(ctx)
	if err != nil {
		return err
	}
	v := [...]eval.Verdict{eval.Won, eval.Lost}[c.random.IntN(2)]
	data, fact, err := c.parts.claim(state, v)
	if err != nil {
		return err
	}
	if _, err := c.upload(ctx, data); err != nil {
		return err
	}
	return c.result(&farmv1.Result{Verdict: farmv1.WriteVerdict(v), Nodes: c.lease.GetBudgetNodes(),
		Facts: farmv1.WriteFacts([]proof.Fact{fact})})
}

// citing delivers a part with so many citations of what nobody proves.
func citing(n int) deed {
	return func(ctx context.Context, c *client) error {
		data, fact, err := c.parts.citing(c.random, n)
		if err != nil {
			return err
		}
		if err := c.deliver(ctx, data, fact); err != nil {
			return err
		}
		return c.pause(ctx, time.Second)
	}
}

// wellFormedEntries is how many entries the kind of that name uploads.
var wellFormedEntries = 1_000_000

func wellFormed(ctx context.Context, c *client) error {
	data, fact, err := c.parts.wellFormed(ctx, c.random, wellFormedEntries)
	if err != nil {
		return err
	}
	if err := c.open(ctx); err != nil {
		return err
	}
	if err := c.deliver(ctx, data, fact); err != nil {
		return err
	}
	return c.pause(ctx, time.Minute)
}

func alteredParts(ctx context.Context, c *client) error {
	p, err := c.parts.honest(ctx, c.random)
	if err != nil {
		return err
	}
	data := altered(c.random, p.Data)
	for i := range p.Facts {
		p.Facts[i].Certificate = proof.IDOf(data)
	}
	return c.deliver(ctx, data, p.Facts...)
}

// checker answers each request to check a part in one way. It searches nothing and asks for work, so that it
// is taken for one that works.
func checker(answer func(*farmv1.Checked)) deed {
	return again(func(ctx context.Context, c *client) error {
		m, err := c.next(ctx, time.Second)
		k := m.GetCheck()
		if err != nil || k == nil || answer == nil {
			return err
		}
		out := &farmv1.Checked{Campaign: k.GetCampaign().GetNumber(), Sha256: k.GetSha256()}
		answer(out)
		return c.checked(out)
	})
}

func halfUploads(ctx context.Context, c *client) error {
	data := make([]byte, 1<<20)
	id := proof.ID{byte(c.random.Uint32()), byte(c.random.Uint32()), byte(c.random.Uint32())}
	half, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	up, err := c.farm.UploadCertificate(half)
	for i := 0; err == nil && i < 512; i++ {
		m := &farmv1.UploadCertificateRequest{Data: data}
		if i == 0 {
			m.Session, m.Sha256, m.Size = c.session, id[:], 1<<30
		}
		err = up.Send(m)
	}
	cancel()
	return wait(ctx, time.Second)
}

func slowUploads(ctx context.Context, c *client) error {
	data := make([]byte, 1<<20)
	id := proof.ID{1, byte(c.random.Uint32())}
	_, err := c.chunks(ctx, id, data, uint64(len(data)), 1, time.Second)
	return err
}

func bigChunks(ctx context.Context, c *client) error {
	data := make([]byte, 4<<20)
	_, err := c.chunks(ctx, proof.IDOf(data), data, uint64(len(data)), 1900<<10, 0)
	return err
}

func wrongDigest(ctx context.Context, c *client) error {
	data := make([]byte, 256<<10)
	_, _ = rand.Read(data)
	if _, err := c.chunks(ctx, proof.ID{7}, data, uint64(len(data)), 1<<20, 0); err == nil {
		return errors.New("an upload under another part's name was taken")
	}
	return wait(ctx, 50*time.Millisecond)
}

func replay(ctx context.Context, c *client) error {
	p, err := c.parts.honest(ctx, c.random)
	if err != nil {
		return err
	}
	if _, err := c.upload(ctx, p.Data); err != nil {
		return err
	}
	if err := c.take(ctx); err != nil {
		return err
	}
	for {
		c.serial = 1
		if err := c.facts(p.Facts...); err != nil {
			return err
		}
		if err := c.result(&farmv1.Result{Phi: 5, Delta: 5, Nodes: c.lease.GetBudgetNodes()}); err != nil {
			return err
		}
		if err := c.pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

func nan(ctx context.Context, c *client) error {
	if err := c.progress(&farmv1.Progress{TableFill: math.NaN()}); err != nil {
		return err
	}
	return c.pause(ctx, 5*time.Second)
}

func backward(ctx context.Context, c *client) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	for n := range uint64(20) {
		if err := c.progress(&farmv1.Progress{Lease: c.lease.GetId(), Epoch: c.lease.GetEpoch(),
			Nodes: 20_000 - 1000*n, Evaluations: 20_000 - 1000*n}); err != nil {
			return err
		}
		if err := c.pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

func stale(ctx context.Context, c *client) error {
	return otherLease(ctx, c, func(l *farmv1.Lease) { l.Epoch += uint64(c.random.IntN(5)) - 2 })
}

func foreign(ctx context.Context, c *client) error {
	return otherLease(ctx, c, func(l *farmv1.Lease) { l.Id = uint64(c.random.IntN(int(l.GetId()) + 50)) })
}

func otherLease(ctx context.Context, c *client, change func(*farmv1.Lease)) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	id, epoch := c.lease.GetId(), c.lease.GetEpoch()
	for {
		c.lease.Id, c.lease.Epoch = id, epoch
		change(c.lease)
		if err := c.result(&farmv1.Result{Phi: 1, Delta: 1, Nodes: 50_000}); err != nil {
			return err
		}
		if err := c.pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

func readyFlood(_ context.Context, c *client) error { return c.ready() }

func helloFlood(ctx context.Context, c *client) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	for {
		s, err := c.farm.Work(ctx)
		if err != nil {
			return err
		}
		if err := s.Send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{
			Session: c.session}}}); err != nil {
			return err
		}
		if err := wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}

func campaigns(ctx context.Context, c *client) error {
	if err := c.progress(&farmv1.Progress{Campaign: 1 + c.random.Uint32()}); err != nil {
		return err
	}
	return c.pause(ctx, 5*time.Second)
}

func contradiction(ctx context.Context, c *client) error {
	p, err := c.parts.honest(ctx, c.random)
	if err != nil {
		return err
	}
	state, err := p.Facts[0].Key.State(c.board)
	if err != nil {
		return err
	}
	data, fact, err := c.parts.claim(state, p.Facts[0].Verdict.Other())
	if err != nil {
		return err
	}
	if _, err := c.upload(ctx, p.Data); err != nil {
		return err
	}
	if _, err := c.upload(ctx, data); err != nil {
		return err
	}
	if err := c.facts(p.Facts[0]); err != nil {
		return err
	}
	if err := c.facts(fact); err != nil {
		return err
	}
	for {
		if err := c.pause(ctx, time.Minute); err != nil {
			return err
		}
	}
}

func short(ctx context.Context, c *client) error {
	return returns(ctx, c, func(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
		return &farmv1.Result{Phi: 1 + r.Uint32N(100), Delta: 1 + r.Uint32N(100), Nodes: 1}
	})
}

func invented(ctx context.Context, c *client) error {
	return returns(ctx, c, func(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
		return &farmv1.Result{Phi: 1 + r.Uint32N(1<<20), Delta: 1 + r.Uint32N(1<<20), Nodes: l.GetBudgetNodes(),
			Evaluations: 20 * l.GetBudgetNodes()}
	})
}

func noProof(ctx context.Context, c *client) error {
	return returns(ctx, c, func(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
		return &farmv1.Result{Verdict: farmv1.Verdict(1 + r.IntN(2)), Nodes: l.GetBudgetNodes()}
	})
}

func returns(ctx context.Context, c *client, of func(*mathrand.Rand, *farmv1.Lease) *farmv1.Result) error {
	if err := c.take(ctx); err != nil {
		return err
	}
	if err := wait(ctx, 50*time.Millisecond); err != nil {
		return err
	}
	return c.result(of(c.random, c.lease))
}

func fetcher(ctx context.Context, c *client) error {
	data, _, err := c.parts.wellFormed(ctx, c.random, 100_000)
	if err != nil {
		return err
	}
	id, err := c.upload(ctx, data)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		for range 60 {
			if _, err := c.farm.FetchCertificate(ctx, &farmv1.FetchCertificateRequest{Session: c.session,
				Sha256: id[:]}); err != nil {
				return err
			}
		}
		if err := wait(ctx, time.Second); err != nil {
			return err
		}
	}
	return ctx.Err()
}

func tinyParts(ctx context.Context, c *client) error {
	data, fact, err := c.parts.claim(c.parts.below(c.random, 1+c.random.IntN(6)), eval.Won)
	if err != nil {
		return err
	}
	return c.deliver(ctx, data, fact)
}

func hints(ctx context.Context, c *client) error {
	return returns(ctx, c, func(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
		data := make([]byte, 1<<20)
		_, _ = rand.Read(data)
		return &farmv1.Result{Phi: 50, Delta: 50, Nodes: l.GetBudgetNodes(), Hints: data, Children: data[:300]}
	})
}

func deaf(ctx context.Context, c *client) error {
	if err := c.join(ctx); err != nil {
		return err
	}
	s, err := c.farm.Work(ctx)
	if err != nil {
		return err
	}
	c.stream = s
	if err := c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Hello{Hello: &farmv1.Hello{
		Session: c.session}}}); err != nil {
		return err
	}
	for n := uint64(0); ; n++ {
		if err := c.progress(&farmv1.Progress{Lease: n, Epoch: 0}); err != nil {
			return err
		}
		if err := wait(ctx, time.Millisecond); err != nil {
			return err
		}
	}
}
