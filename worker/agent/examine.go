package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/memory"
	"amazonsfarm/shared/proof"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// maxChecks bounds the parts that a worker may have been asked to check at one time. A sound master
// asks for two: the second waits here until the first is done.
const maxChecks = 16

// checkMemory bounds the tables of the checker, in bytes: a part of 30 million positions, or an eighth of
// what a small machine has. Others check the parts that are too large for it.
func checkMemory() int64 {
	const most = 1 << 30
	if total := memory.Total(); total > 0 {
		return min(most, total/8)
	}
	return most
}

// examine begins the check of a part. Errors wrap ErrProtocol.
func (m *Machine) examine(c *farmv1.Check) error {
	if len(c.GetSha256()) != len(proof.ID{}) || m.stream.checks >= maxChecks {
		return fmt.Errorf("%w: a check of part %x beside %d others", ErrProtocol, c.GetSha256(), m.stream.checks)
	}
	m.stream.checks++
	m.do(Examine{c})
	return nil
}

// examined reports a check.
func (m *Machine) examined(e Examined) {
	if m.link != joined || m.stream.leaving {
		return // the master asks another worker
	}
	m.stream.checks--
	m.c.Stats.Checked.Add(1)
	if m.running == nil {
		m.workless = m.now
	}
	m.do(Send{&farmv1.WorkRequest{Kind: &farmv1.WorkRequest_Checked{Checked: e.Report}}})
}

// examine checks a part in a goroutine of its own, one after the other.
func (c *connection) examine(e Examine) {
	c.running.Go(func() {
		select {
		// One part is fetched and checked at a time: each may take the memory that checkMemory allows.
		case c.checking <- struct{}{}:
			defer func() { <-c.checking }()
		case <-c.ctx.Done():
			return
		}
		report := &farmv1.Checked{Campaign: e.Check.GetCampaign().GetNumber(), Sha256: e.Check.GetSha256()}
		if err := c.check(e.Check, report); err != nil && c.ctx.Err() == nil {
			report.Failed, report.Returned = Reason(err), errors.Is(err, errUnfetched)
			c.Log.Warn("a part could not be checked", "part", fmt.Sprintf("%x", report.Sha256), "reason", report.Failed)
		}
		if c.ctx.Err() == nil {
			c.tell(Examined{report})
		}
	})
}

// check fetches a part and has the checker go over it. The error says why that could not be done.
func (c *connection) check(m *farmv1.Check, out *farmv1.Checked) error {
	data, err := c.fetch(m)
	if err != nil {
		return err
	}
	if id := proof.IDOf(data); !bytes.Equal(id[:], m.GetSha256()) {
		return fmt.Errorf("what came is not the part: its SHA-256 is %s", id.Name())
	}
	if want := m.GetOutlineSha256(); len(want) > 0 {
		outline, err := proof.Outline(bytes.NewReader(data), int64(len(data)))
		if sum := proof.IDOf(outline); err != nil || !bytes.Equal(sum[:], want) {
			out.Fault = "it proves or cites something else than was announced"
			return nil
		}
	}
	began := time.Now()
	r, err := checker.Check(c.ctx, bytes.NewReader(data), int64(len(data)), checker.Options{Part: true,
		Workers: c.Cores, RulesOnly: m.GetCampaign().GetRulesOnly(), MaxMemory: checkMemory()})
	out.Seconds = time.Since(began).Seconds()
	c.Stats.Check.Since(began)
	switch {
	case err == nil && fmt.Sprintf("%dx%d", r.Width, r.Height) != m.GetCampaign().GetBoard():
		out.Fault = fmt.Sprintf("it is for board %dx%d", r.Width, r.Height)
	case err == nil:
		out.Holds, out.Positions = true, uint64(r.Entries)
	case checker.Refutes(err):
		out.Fault = err.Error()
	default:
		return err
	}
	return nil
}

// A worker tries for so long to fetch a part: half of the time in which a master wants its answer. Then it
// hands the check back.
const (
	fetchPatience = 15 * time.Second
	fetchRate     = 32 << 10 // bytes a second
	maxPart       = 1 << 30  // bytes; the check of a larger part would take more memory than one may
)

// errUnfetched says that a part did not come for reasons that pass.
var errUnfetched = errors.New("the part could not be fetched in time")

// fetch returns the bytes of a part. Whatever passes is tried again: a master that is full, a bucket that
// does not answer. Where it does not pass in time, the error wraps errUnfetched.
func (c *connection) fetch(m *farmv1.Check) (data []byte, err error) {
	if m.GetSize() > maxPart {
		return nil, fmt.Errorf("a part of %d bytes, the limit is %d", m.GetSize(), maxPart)
	}
	ctx, cancel := context.WithTimeout(c.ctx, fetchPatience+time.Duration(m.GetSize()/fetchRate)*time.Second)
	defer cancel()
	for pause := c.BackoffMin; ; pause = min(2*pause, c.BackoffMax) {
		if m.GetUrl() != "" {
			data, err = c.get(ctx, m.GetUrl(), int64(m.GetSize()))
		} else {
			data, err = FetchPart(ctx, c.client, c.session.GetSession(), m)
		}
		if err == nil || lasting(err) {
			return data, err
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %s", errUnfetched, Reason(err))
		case <-time.After(pause):
		}
	}
}

// lasting reports whether a part that was not fetched will not come later either.
func lasting(err error) bool {
	switch status.Code(err) {
	case codes.NotFound, codes.DataLoss, codes.FailedPrecondition, codes.InvalidArgument:
		return true
	}
	return errors.Is(err, errNoPart)
}

// FetchPart asks a master once for a part that it wants checked. Errors are those of gRPC; codes.DataLoss where
// more came than was announced.
func FetchPart(ctx context.Context, client farmv1.FarmClient, session string, m *farmv1.Check) ([]byte, error) {
	in, err := client.FetchCertificate(ctx, &farmv1.FetchCertificateRequest{Session: session,
		Campaign: m.GetCampaign().GetNumber(), Sha256: m.GetSha256()})
	if err != nil {
		return nil, err
	}
	var data []byte
	for {
		chunk, err := in.Recv()
		if err == io.EOF {
			return data, nil
		} else if err != nil {
			return nil, err
		}
		if data = append(data, chunk.GetData()...); uint64(len(data)) > m.GetSize() {
			return nil, status.Errorf(codes.DataLoss, "more than the announced %d bytes came", m.GetSize())
		}
	}
}
