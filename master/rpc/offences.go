package rpc

import (
	"fmt"
	"math"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Offences are what a sound worker never does, so that nobody commits one by accident: the values of a metric's label. After
// Config.MaxOffences of them, of any kinds, a worker's name is quarantined. What may be an accident is refused and counted elsewhere, and not held
// against the worker: a result that comes late, a fact whose certificate the store does not have (any more), made-up numbers of a search that
// used its budget, or one that ends before it.
const (
	offenceCertificate = "false_certificate" // an uploaded certificate does not prove what it claims, or is none
	offenceClaim       = "unfounded_claim"   // an outcome without a fact, or a fact that its certificate does not state
	offenceLease       = "foreign_lease"     // the lease is somebody else's, or was never granted
	offenceFlood       = "flood"             // over Config.SessionMessages
	offenceSize        = "oversize"          // a message, a chunk or a certificate over its limit
	offenceMalformed   = "malformed"         // a message that means nothing
	offenceShort       = "short"             // shortInARow results in a row, open and before their budgets: they are of no use
)

var offenceKinds = []string{offenceCertificate, offenceClaim, offenceLease, offenceFlood, offenceSize, offenceMalformed, offenceShort}

// shortInARow is how many results that came back open before their budgets are an offence. One alone may be a search that found no way to go on.
const shortInARow = 10

// heardShort counts the results in a row of a worker that came back before their budgets.
func (m *Master) heardShort(s *session, short bool) {
	if !short {
		s.short = 0
		return
	}
	m.cfg.Metrics.short.Inc()
	if s.short++; s.short%shortInARow == 0 {
		m.caught(s, offenceShort, fmt.Errorf("%d results in a row came back open before their budgets", s.short))
	}
}

// caught counts an offence of a worker and quarantines its name when there are too many.
func (m *Master) caught(s *session, kind string, why error) {
	m.cfg.Metrics.offences.WithLabelValues(kind).Inc()
	if kind == offenceCertificate {
		m.cfg.Metrics.falseCertificates.Inc()
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.offences[s.name] + 1
	if n == 1 && len(m.offences) >= m.cfg.MaxOffenders {
		m.forgetOffender()
	}
	m.offences[s.name] = n
	if n > m.cfg.MaxOffences {
		return // what was under way when it was quarantined
	}
	m.cfg.Log.Error("a worker does what no sound one does", "worker", s.name, "address", s.info.address, "offence", kind, "times", n, "error", why)
	if n < m.cfg.MaxOffences {
		return
	}
	m.cfg.Log.Error("the worker is quarantined", "worker", s.name)
	m.cfg.Metrics.quarantined.Inc()
	// The session goes with its stream, or at the next tick. Its name may have been taken over.
	for _, o := range m.sessions {
		if o.name != s.name {
			continue
		}
		o.quarantined = true
		if o.link != nil {
			o.link.end(errQuarantined(o.name, n))
		}
	}
}

func errQuarantined(name string, offences int) error {
	return status.Error(codes.PermissionDenied, fmt.Sprintf("worker %s is quarantined: %d times it did what no sound worker does", name, offences))
}

func (m *Master) isQuarantined(s *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return s.quarantined
}

// forgetOffender makes room for a name in offences. The caller holds mu.
func (m *Master) forgetOffender() {
	least, fewest := "", math.MaxInt
	for name, n := range m.offences {
		if n < fewest {
			least, fewest = name, n
		}
	}
	delete(m.offences, least)
}

// beginUpload counts an upload of a session, unless it has as many as it may have.
func (m *Master) beginUpload(s *session) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s.uploads >= m.cfg.SessionUploads {
		return false
	}
	s.uploads++
	return true
}

func (m *Master) endUpload(s *session) {
	m.mu.Lock()
	s.uploads--
	m.mu.Unlock()
}
