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

// deed is what a client does, until its context ends or the master has had enough.
type deed func(*client)

// opened has the client join and open its work stream before a deed.
func opened(do deed) deed {
	return func(c *client) {
		if c.open(); c.ok() {
			do(c)
		}
	}
}

// again repeats a deed after the client has joined and opened its work stream.
func again(do deed) deed {
	return opened(func(c *client) {
		for c.ok() {
			do(c)
		}
	})
}

// kind is one way to be hostile. do goes on until its context ends or the master has had enough; then it
// is called again with a new connection.
type kind struct {
	name string
	what string
	do   deed
}

// kinds are all ways. Their order is part of what a seed means: add at the end.
var kinds = []kind{
	{"holder", "holds a lease for ever: reports evaluations+1 each second and ignores Cancel", again(holder)},
	{"mute", "takes leases and never says a word about them", again((*client).take)},
	{"idler", "joins and never asks for work", again(idler)},
	{"joiner", "joins under ever new names", joiner},
	{"unasked", "delivers valid facts with their parts that nobody asked for", again(unasked)},
	{"hoarder", "uploads valid parts that no fact names", again(hoarder)},
	{"false-win", "claims with a false part that the leased position is won", again(falseWin)},
	{"uncited", "delivers parts that cite what nobody proves", again(citing(5))},
	{"citations", "delivers a part with 200,000 citations and no proof", again(citing(200_000))},
	{"well-formed", "uploads a million well-formed entries that prove nothing", wellFormed},
	{"altered", "uploads parts with a bit changed", again(alteredParts)},
	{"says-false", "says of each part that it does not hold", checker(func(m *farmv1.Checked) { m.Fault = "no" })},
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
	{"ready-flood", "asks for work as fast as it can", again((*client).ready)},
	{"hello-flood", "opens one stream after the other", helloFlood},
	{"campaigns", "names campaigns that there are not", opened(campaigns)},
	{"contradiction", "claims both verdicts of one position", opened(contradiction)},
	{"garbage", "sends random bytes", garbage},
	{"truncated", "sends frames of HTTP/2 that end too early", truncated},
	{"short", "returns each lease at once, as if it was searched", returning(short)},
	{"numbers", "returns invented numbers", returning(invented)},
	{"no-proof", "says that leases are won, without a proof", returning(noProof)},
	{"fetcher", "fetches parts again and again and does not read them", opened(fetcher)},
	{"tiny-parts", "uploads many parts of one entry", again(tinyParts)},
	{"hints", "sends the largest hints that there are, without sense", returning(hints)},
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

func holder(c *client) {
	c.take()
	l := c.lease
	for n := uint64(0); n < 30 && c.ok(); n++ { // and then one more
		c.progress(&farmv1.Progress{Lease: l.GetId(), Epoch: l.GetEpoch(), Evaluations: 1 + n})
		c.next(time.Second)
	}
}

func idler(c *client) { c.next(time.Minute) }

func joiner(c *client) {
	name := c.name
	defer func() { c.name = name }()
	for c.ok() {
		c.name = fmt.Sprintf("%s/-%08x", name, c.random.Uint32())
		c.join()
		c.wait(2 * time.Millisecond)
	}
}

func unasked(c *client) {
	p := c.honest()
	c.deliver(p.Data, p.Facts...)
	c.next(0)
}

func hoarder(c *client) { c.upload(c.honest().Data) }

func falseWin(c *client) {
	state := c.position()
	v := [...]eval.Verdict{eval.Won, eval.Lost}[c.random.IntN(2)]
	data, fact := c.claim(state, v)
	c.upload(data)
	c.result(&farmv1.Result{Verdict: farmv1.WriteVerdict(v), Nodes: c.lease.GetBudgetNodes(),
		Facts: farmv1.WriteFacts([]proof.Fact{fact})})
}

// citing delivers a part with so many citations of what nobody proves.
func citing(n int) deed {
	return func(c *client) {
		data, fact, err := c.parts.citing(c.random, n)
		c.fail(err)
		c.deliver(data, fact)
		c.next(time.Second)
	}
}

func wellFormed(c *client) {
	data, fact, err := c.parts.wellFormed(c.ctx, c.random, 1_000_000)
	c.fail(err)
	c.open()
	c.deliver(data, fact)
	c.next(time.Minute)
}

func alteredParts(c *client) {
	p := c.honest()
	if !c.ok() {
		return
	}
	data := altered(c.random, p.Data)
	for i := range p.Facts {
		p.Facts[i].Certificate = proof.IDOf(data)
	}
	c.deliver(data, p.Facts...)
}

// checker answers each request to check a part in one way. It searches nothing and asks for work, so that it
// is taken for one that works.
func checker(answer func(*farmv1.Checked)) deed {
	return again(func(c *client) {
		k := c.next(time.Second).GetCheck()
		if k == nil || answer == nil {
			return
		}
		out := &farmv1.Checked{Campaign: k.GetCampaign().GetNumber(), Sha256: k.GetSha256()}
		answer(out)
		c.send(&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: out}})
	})
}

func halfUploads(c *client) {
	data := make([]byte, 1<<20)
	id := proof.ID{byte(c.random.Uint32()), byte(c.random.Uint32()), byte(c.random.Uint32())}
	half, cancel := context.WithTimeout(c.ctx, 3*time.Second)
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
	c.wait(time.Second)
}

func slowUploads(c *client) {
	data := make([]byte, 1<<20)
	c.chunks(proof.ID{1, byte(c.random.Uint32())}, data, uint64(len(data)), 1, time.Second)
}

func bigChunks(c *client) {
	data := make([]byte, 4<<20)
	c.chunks(proof.IDOf(data), data, uint64(len(data)), 1900<<10, 0)
}

func wrongDigest(c *client) {
	data := make([]byte, 256<<10)
	_, _ = rand.Read(data)
	if c.chunks(proof.ID{7}, data, uint64(len(data)), 1<<20, 0); c.err == nil {
		c.fail(errors.New("an upload under another part's name was taken"))
		return
	}
	c.err = nil // it was refused, as it should be
	c.wait(50 * time.Millisecond)
}

func replay(c *client) {
	p := c.honest()
	c.upload(p.Data)
	for c.take(); c.ok(); c.next(20 * time.Millisecond) {
		c.serial = 1
		c.facts(p.Facts...)
		c.result(&farmv1.Result{Phi: 5, Delta: 5, Nodes: c.lease.GetBudgetNodes()})
	}
}

func nan(c *client) {
	c.progress(&farmv1.Progress{TableFill: math.NaN()})
	c.next(5 * time.Second)
}

func backward(c *client) {
	c.take()
	for n := uint64(0); n < 20 && c.ok(); n++ {
		c.progress(&farmv1.Progress{Lease: c.lease.GetId(), Epoch: c.lease.GetEpoch(),
			Nodes: 20_000 - 1000*n, Evaluations: 20_000 - 1000*n})
		c.next(100 * time.Millisecond)
	}
}

func stale(c *client) {
	otherLease(c, func(l *farmv1.Lease) { l.Epoch += uint64(c.random.IntN(5)) - 2 })
}

func foreign(c *client) {
	otherLease(c, func(l *farmv1.Lease) { l.Id = uint64(c.random.IntN(int(l.GetId()) + 50)) })
}

func otherLease(c *client, change func(*farmv1.Lease)) {
	c.take()
	id, epoch := c.lease.GetId(), c.lease.GetEpoch()
	for ; c.ok(); c.next(50 * time.Millisecond) {
		c.lease.Id, c.lease.Epoch = id, epoch
		change(c.lease)
		c.result(&farmv1.Result{Phi: 1, Delta: 1, Nodes: 50_000})
	}
}

func helloFlood(c *client) {
	for c.join(); c.ok(); c.wait(time.Millisecond) {
		c.work()
	}
}

func campaigns(c *client) {
	c.progress(&farmv1.Progress{Campaign: 1 + c.random.Uint32()})
	c.next(5 * time.Second)
}

func contradiction(c *client) {
	p := c.honest()
	if !c.ok() {
		return
	}
	state, err := p.Facts[0].Key.State(c.board)
	c.fail(err)
	data, fact := c.claim(state, p.Facts[0].Verdict.Other())
	c.upload(p.Data)
	c.upload(data)
	c.facts(p.Facts[0])
	for c.facts(fact); c.ok(); {
		c.next(time.Minute)
	}
}

func short(r *mathrand.Rand, _ *farmv1.Lease) *farmv1.Result {
	return &farmv1.Result{Phi: 1 + r.Uint32N(100), Delta: 1 + r.Uint32N(100), Nodes: 1}
}

func invented(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
	return &farmv1.Result{Phi: 1 + r.Uint32N(1<<20), Delta: 1 + r.Uint32N(1<<20), Nodes: l.GetBudgetNodes(),
		Evaluations: 20 * l.GetBudgetNodes()}
}

func noProof(r *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
	return &farmv1.Result{Verdict: farmv1.Verdict(1 + r.IntN(2)), Nodes: l.GetBudgetNodes()}
}

// returning takes leases and returns each with what of makes of it.
func returning(of func(*mathrand.Rand, *farmv1.Lease) *farmv1.Result) deed {
	return again(func(c *client) {
		c.take()
		if c.wait(50 * time.Millisecond); c.ok() {
			c.result(of(c.random, c.lease))
		}
	})
}

func fetcher(c *client) {
	data, _, err := c.parts.wellFormed(c.ctx, c.random, 100_000)
	c.fail(err)
	for id := c.upload(data); c.ok(); c.wait(time.Second) {
		for n := 0; n < 60 && c.ok(); n++ {
			_, err := c.farm.FetchCertificate(c.ctx, &farmv1.FetchCertificateRequest{Session: c.session, Sha256: id[:]})
			c.fail(err)
		}
	}
}

func tinyParts(c *client) {
	data, fact := c.claim(c.parts.below(c.random, 1+c.random.IntN(6)), eval.Won)
	c.deliver(data, fact)
}

func hints(_ *mathrand.Rand, l *farmv1.Lease) *farmv1.Result {
	data := make([]byte, 1<<20)
	_, _ = rand.Read(data)
	return &farmv1.Result{Phi: 50, Delta: 50, Nodes: l.GetBudgetNodes(), Hints: data, Children: data[:300]}
}

func deaf(c *client) {
	c.join()
	c.work()
	for n := uint64(0); c.ok(); n++ {
		c.progress(&farmv1.Progress{Lease: n, Epoch: 0})
		c.wait(time.Millisecond)
	}
}
