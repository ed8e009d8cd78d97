package agent

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// parcel is one thing to deliver: parts of the proof, if there are any, and after them the message
// that names them. It waits until the master acknowledges the message.
// It gets its serial when it enters the queue, and keeps it on later streams: acknowledgements name it.
// sent and sentAt are about the present stream.
type parcel struct {
	of      campaign
	serial  uint64
	parts   []Part // not uploaded yet, in the order in which they cite each other
	message *farmv1.WorkRequest
	lease   *lease // of a result: the lease it ends
	sent    bool   // in this session
	sentAt  time.Duration
	sends   int // in all sessions
}

// errUpload says that the master will never accept a part.
var errUpload = errors.New("part refused")

// ready says that the message may be sent: the master has all parts.
func (p *parcel) ready() bool { return len(p.parts) == 0 }

// claims says that the message has facts.
func (p *parcel) claims() bool {
	return len(p.message.GetFacts().GetFacts())+len(p.message.GetResult().GetFacts()) > 0
}

// strip takes the evidence out of the parcel, and what rests on it. Numbers and hints stay.
func (p *parcel) strip() {
	p.parts = nil
	switch k := p.message.Kind.(type) {
	case *farmv1.WorkRequest_Facts:
		k.Facts.Facts = nil
	case *farmv1.WorkRequest_Result:
		k.Result.Facts, k.Result.Verdict = nil, farmv1.Verdict_VERDICT_UNSPECIFIED
	}
}

// deliver queues what the running lease found when there is room, and goes on with the lease.
// Until there is room the search stands still, so a worker never runs far ahead of a master that takes nothing.
func (m *Machine) deliver() {
	p := m.found
	if p == nil || len(m.waiting) >= m.c.MaxWaiting {
		return
	}
	m.found = nil
	m.enqueue(p)
	if p.lease != nil {
		m.ended()
	} else {
		m.slice()
	}
}

// enqueue puts a parcel behind those that wait. It reports whether the parcel is for the present master.
func (m *Machine) enqueue(p *parcel) bool {
	if !m.wanted(p) {
		return false
	}
	m.serial++
	p.serial = m.serial
	switch k := p.message.Kind.(type) {
	case *farmv1.WorkRequest_Facts:
		k.Facts.Serial = p.serial
	case *farmv1.WorkRequest_Result:
		k.Result.Serial = p.serial
	}
	m.waiting = append(m.waiting, p)
	return true
}

// upload begins to upload the oldest part, while none is being uploaded.
func (m *Machine) upload() {
	if m.stream.uploading != nil {
		return
	}
	for _, p := range m.waiting {
		if !p.ready() {
			m.stream.uploading = p
			m.do(Upload{p.parts[0], p.of.number})
			return
		}
	}
}

// lose takes the evidence out of what was extracted after a parcel, and out of the parcel itself. The master will never
// have the parcel's facts, and later parts may cite them. An answer that meets a citation without a proof accuses the
// part's maker.
func (m *Machine) lose(serial uint64) {
	for _, p := range m.waiting {
		if p.serial >= serial && !p.sent {
			p.strip()
		}
	}
	if m.found != nil {
		m.found.strip()
	}
	m.vain = m.group.proving || m.running != nil && !m.running.searching && m.found == nil
}

// uploaded notes what became of an upload. A part that the master will never accept takes all facts
// of its parcel with it, and what may cite them. All that counted as delivered is forgotten.
func (m *Machine) uploaded(err error) {
	p := m.stream.uploading
	if p == nil {
		return
	}
	m.stream.uploading = nil
	switch {
	case p.ready() && (err == nil || errors.Is(err, errUpload)): // its evidence was lost meanwhile
	case err == nil:
		m.c.Stats.Facts.Add(uint64(len(p.parts[0].Facts)))
		m.c.Stats.PartBytes.Add(uint64(len(p.parts[0].Data)))
		m.c.Stats.Entries.Add(uint64(p.parts[0].Entries))
		p.parts = p.parts[1:]
	case errors.Is(err, errUpload):
		m.c.Log.Error("evidence lost", "error", err, "facts", len(p.parts[0].Facts))
		m.c.Stats.Refused.Add(1)
		m.lose(p.serial)
		m.do(Forget{})
	default:
		m.hangUp(fmt.Errorf("%w: upload: %v", errLost, err))
	}
}

// send sends the messages whose parts are with the master, in order.
func (m *Machine) send() {
	for _, p := range m.waiting {
		// No message overtakes another one: facts of a lease come before its result.
		if !p.ready() {
			return
		}
		if !p.sent {
			p.sent, p.sentAt = true, m.now
			p.sends++
			m.do(Send{p.message})
		}
	}
}

func (m *Machine) allSent() bool {
	return !slices.ContainsFunc(m.waiting, func(p *parcel) bool { return !p.sent })
}

// sendAgain readies the waiting parcels for another stream. It gives up those on which the stream
// broke too often, and loses what may cite their facts.
func (m *Machine) sendAgain() {
	first := uint64(0) // the serial of the first parcel that is given up; 0: none is
	m.waiting = slices.DeleteFunc(m.waiting, func(p *parcel) bool {
		p.sent = false
		hopeless := p.sends >= m.c.MaxSends
		if hopeless {
			m.c.Log.Error("given up: the stream broke each time this was sent", "serial", p.serial, "times", p.sends)
			m.c.Stats.Refused.Add(1)
			first = cmp.Or(first, p.serial)
		}
		return hopeless
	})
	if first > 0 {
		m.lose(first)
	}
}

// masterFull notes that the master is there and acknowledges nothing for now.
func (m *Machine) masterFull(reason string) {
	if m.toldFull == 0 || m.now-m.toldFull >= sayAgain {
		m.toldFull = m.now
		m.c.Log.Warn("the master has no room now; what is not acknowledged waits", "reason", reason, "waiting",
			len(m.waiting))
	}
	for _, p := range m.waiting {
		// Otherwise AckTimeout would end a stream on which nothing is wrong.
		p.sentAt = m.now
	}
}

// acknowledged drops a parcel that the master has, or has refused for good.
func (m *Machine) acknowledged(ack *farmv1.Ack) {
	m.toldFull = 0
	i := slices.IndexFunc(m.waiting, func(p *parcel) bool { return p.serial == ack.GetSerial() })
	// It was given up, or dropped as another master's.
	if i < 0 {
		return
	}
	p := m.waiting[i]
	m.waiting = slices.Delete(m.waiting, i, i+1)
	if ack.GetFactsRefused() && p.claims() {
		m.lose(p.serial)
		m.do(Forget{})
	}
	switch {
	case ack.GetRefused() != "":
		m.c.Stats.Refused.Add(1)
		if ack.GetOldLease() {
			m.c.Log.Info("the master was started anew: this lease has ended, and what was proved is kept", "serial",
				p.serial)
			break
		}
		m.c.Log.Warn("refused by the master", "serial", p.serial, "reason", ack.GetRefused())
	case p.lease != nil:
		m.c.Stats.Results.Add(1)
	}
}
