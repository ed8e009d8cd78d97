package loop

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"amazonsfarm/master/outlook"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/trust"
	"amazonsfarm/shared/eval"
)

// states are the values of a campaign's state, in the order in which it goes through them.
var states = []string{StateRunning, StatePaused, StateDraining, StateAssembling, StateVerifying, StateSettled,
	StateStopped, StateEnded}

var verdicts = []string{"open", "won", "lost"}

// The reasons to end an upload that stops or trickles: the values of a metric's label.
const (
	StallIdle = "idle" // nothing came for a while
	StallSlow = "slow" // it came too slowly on the whole
)

// Metrics are the figures of a master. No label is ever a position, a lease or a worker: their number
// has no bound. That of campaigns has one.
type Metrics struct {
	// Figures by campaign. The last three have a second label: outcome, outcome, state.
	gauges                   map[string]*prometheus.GaugeVec // by name; see campaignGauges
	facts, firstMoves, state *prometheus.GaugeVec
	done, whole              *prometheus.GaugeVec // by campaign and phase

	nodes, granted, expired, cancelled *prometheus.CounterVec // by campaign
	returned                           *prometheus.CounterVec // by campaign and outcome

	workers, queue, certificates, certificateBytes, quarantined prometheus.Gauge
	batch, commit                                               prometheus.Histogram
	verifications, offences, checks, stalled                    *prometheus.CounterVec // by one label each

	refused, contradictions, falseCertificates, short, quarantines, quarantinedJoins, requeued,
	spacePauses, partsVerified, retractedFacts prometheus.Counter
}

// campaignGauges are the figures of a campaign without another label, with their help.
var campaignGauges = map[string]string{
	"root_proof_number": "Proof number of the root: how far its side to move is from a proved win. 0 when it is won.",
	"root_disproof_number": "Disproof number of the root: how far its side to move is from a proved loss. " +
		"0 when it is lost.",
	"first_moves_settled_ratio": "Share of the root's moves whose outcome is known.",
	"evidence_ratio": "Of the nodes in running leases, the share below positions that the search has decided. " +
		"It says how much of the work has led to proofs, and not how much is left.",
	"leases_running": "Leases that workers have now.",
	"frontier_positions": "Unsolved leaves of the tree that matter to the root; " +
		"the leased ones are among them.",
	"set_aside_positions": "Positions whose leases were lost too often; they are leased last for a while.",
	"tree_positions":      "Positions in the master's tree.",
	"campaign_priority":   "Priority of the campaign: the higher goes first.",
	"campaign_share":      "Share of the work, among the campaigns of one priority.",
	"unchecked_results":   "Results whose numbers do not count before another party has searched their position.",
	"lease_stretch": "How many times as long as planned leases are: more than 1 where shorter ones would bring " +
		"more results than the master can take in.",
}

// NewMetrics registers the figures of a master; all label values are there from the start, at zero,
// those of a campaign once there is one.
func NewMetrics(r prometheus.Registerer) *Metrics {
	in := promauto.With(prometheus.WrapRegistererWithPrefix("amazons_master_", r))
	gauge := func(name, help string) prometheus.Gauge {
		return in.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		return in.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, append([]string{"campaign"}, labels...))
	}
	counter := func(name, help string) prometheus.Counter {
		return in.NewCounter(prometheus.CounterOpts{Name: name, Help: help})
	}
	counters := func(name, help string, labels ...string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return in.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets,
			NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour})
	}
	m := &Metrics{gauges: map[string]*prometheus.GaugeVec{},
		facts: gauges("facts", "Proved positions in the store, by outcome for their side to move.", "outcome"),
		firstMoves: gauges("first_moves",
			"Moves of the root, by outcome for the side that plays them.", "outcome"),
		state: gauges("campaign_state", "1 for the state the campaign is in, 0 for the others.", "state"),
		done: gauges("phase_done", "How much of the phase that the campaign is in is done, 0 for the other phases: "+
			"first moves, positions, bytes or parts.", "phase"),
		whole: gauges("phase_whole", "What phase_done will come to; 0 where that is not known.", "phase"),

		nodes: counters("nodes_total", "Positions that workers expanded, in committed results of this campaign.",
			"campaign"),
		granted:   counters("leases_granted_total", "Leases sent to workers.", "campaign"),
		expired:   counters("leases_expired_total", "Leases that workers lost: gone, silent or idle.", "campaign"),
		cancelled: counters("leases_cancelled_total", "Cancellations sent to workers.", "campaign"),
		returned: counters("leases_returned_total",
			"Leases that came back with a result, by outcome for the side to move.", "campaign", "outcome"),

		workers: gauge("workers_connected", "Workers with an open work stream."),
		queue:   gauge("queued_events", "Events that wait for the loop that owns the tree, when it last looked."),
		batch: histogram("batch_events", "Events that the loop stepped the tree for in one commit.",
			[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}),
		commit: histogram("store_commit_duration_seconds", "Time the loop waited for one commit of the store.",
			prometheus.ExponentialBuckets(0.0005, 2, 14)),
		certificates:     gauge("certificates", "Certificates of workers in the store."),
		certificateBytes: gauge("certificate_bytes", "Bytes of the certificates of workers in the store."),
		quarantined: gauge("quarantined_parties",
			"Credentials, and names without one, whose workers may not join until an operator releases them."),

		verifications: counters("verifications_total", "Checks of an assembled certificate, by result.", "result"),
		offences: counters("worker_offences_total",
			"What workers did that no sound one does, by kind. A few of them quarantine a worker.", "kind"),
		checks: counters("checks_total",
			"Comparisons of a result with another party's search of the same position, by what came out.", "result"),
		stalled: counters("uploads_stalled_total",
			"Uploads ended because nothing came for long, or too slowly. Their workers try again.", "why"),

		refused: counter("messages_refused_total",
			"Results and facts of workers that were refused: stale lease or missing evidence."),
		contradictions: counter("contradictions_total",
			"Pairs of facts that contradict each other. The parts behind them are checked."),
		falseCertificates: counter("false_certificates_total",
			"Parts of workers that do not prove what they claim. What they claim is taken back."),
		short: counter("results_short_total",
			"Results that came back open before their budget was used, unasked. Many from one worker are suspicious."),
		quarantines: counter("workers_quarantined_total",
			"Times that an offence was one too many, so that a credential, or a name without one, was quarantined."),
		quarantinedJoins: counter("quarantined_joins_total",
			"Tries to join by workers that are quarantined. All are refused."),
		requeued: counter("results_requeued_total",
			"Positions that are searched again because the worker that searched them was caught."),
		partsVerified: counter("parts_verified_total", "Parts of proofs that workers, or the master, found to hold."),
		retractedFacts: counter("retracted_facts_total",
			"Facts that were taken back because a part that they rest on does not hold."),
		spacePauses: counter("space_pauses_total",
			"Times that campaigns paused because something could not be written. They go on by themselves."),
	}
	for name, help := range campaignGauges {
		m.gauges[name] = gauges(name, help)
	}
	for vector, values := range map[*prometheus.CounterVec][]string{
		m.verifications: {"passed", "failed"}, m.offences: trust.Kinds, m.stalled: {StallIdle, StallSlow},
		m.checks: {checkConfirmed, checkContradicted, checkUnsettled},
	} {
		for _, v := range values {
			vector.WithLabelValues(v)
		}
	}
	return m
}

// Campaign makes the figures of a campaign, at zero.
func (m *Metrics) Campaign(name string) {
	m.show(name, View{})
	for _, v := range []*prometheus.CounterVec{m.nodes, m.granted, m.expired, m.cancelled} {
		v.WithLabelValues(name)
	}
	for _, verdict := range verdicts {
		m.returned.WithLabelValues(name, verdict)
	}
}

// Verified counts a check of an assembled certificate.
func (m *Metrics) Verified(passed bool) {
	result := "failed"
	if passed {
		result = "passed"
	}
	m.verifications.WithLabelValues(result).Inc()
}

// Stalled counts an upload that was ended because it stopped (StallIdle) or trickled (StallSlow).
func (m *Metrics) Stalled(why string) { m.stalled.WithLabelValues(why).Inc() }

// counted is what the counters of a campaign have counted of its tree.
type counted struct {
	nodes, unsettled, requeued uint64
	expired                    map[string]int // leases, by worker
}

// measure brings the metrics up to date.
func (l *Loop) measure() {
	x := l.cfg.Metrics
	views := l.views()
	for i, c := range l.campaigns() {
		v := views[i]
		x.show(c.Name, v)
		x.count(c, v.Tree)
		x.workers.Set(float64(v.Connected))
		x.quarantined.Set(float64(v.Quarantined))
		x.certificates.Set(float64(v.Certs))
		x.certificateBytes.Set(float64(v.CertBytes))
		x.checks.WithLabelValues(checkUnsettled).Add(float64(v.Tree.Unsettled - c.counted.unsettled))
		x.requeued.Add(float64(v.Tree.Requeued - c.counted.requeued))
		c.counted.unsettled, c.counted.requeued = v.Tree.Unsettled, v.Tree.Requeued
	}
}

// show sets the figures of a campaign that go up and down.
func (m *Metrics) show(name string, v View) {
	t := v.Tree
	moves := map[eval.Verdict]int{}
	for _, f := range t.FirstMoves {
		moves[f.Verdict]++
	}
	settled := 0.0
	if n := len(t.FirstMoves); n > 0 {
		wins, refuted := outlook.Decided(t.FirstMoves)
		settled = float64(wins+refuted) / float64(n)
	}
	for _, p := range phases {
		now := v.Phase
		if now.Name != p {
			now = Phase{}
		}
		m.done.WithLabelValues(name, p).Set(float64(now.Done))
		m.whole.WithLabelValues(name, p).Set(float64(now.Total))
	}
	for figure, value := range map[string]float64{
		"root_proof_number": float64(t.Phi), "root_disproof_number": float64(t.Delta),
		"first_moves_settled_ratio": settled, "evidence_ratio": v.Evidence, "leases_running": float64(t.Leased),
		"frontier_positions": float64(t.Frontier), "set_aside_positions": float64(t.Aside),
		"tree_positions": float64(t.Nodes), "campaign_priority": float64(v.Priority),
		"campaign_share": float64(v.Share), "unchecked_results": float64(t.Unchecked), "lease_stretch": t.Stretch,
	} {
		m.gauges[figure].WithLabelValues(name).Set(value)
	}
	m.facts.WithLabelValues(name, "won").Set(float64(t.FactsWon))
	m.facts.WithLabelValues(name, "lost").Set(float64(t.FactsLost))
	m.firstMoves.WithLabelValues(name, "open").Set(float64(moves[eval.Open]))
	m.firstMoves.WithLabelValues(name, "won").Set(float64(moves[eval.Lost])) // of the position after it
	m.firstMoves.WithLabelValues(name, "lost").Set(float64(moves[eval.Won]))
	for _, s := range states {
		value := 0.0
		if s == v.State {
			value = 1
		}
		m.state.WithLabelValues(name, s).Set(value)
	}
}

// count adds what the tree of a campaign has counted since the last time.
func (m *Metrics) count(c *campaign, t tree.Status) {
	if nodes := t.Spent; nodes > c.counted.nodes {
		m.nodes.WithLabelValues(c.Name).Add(float64(nodes - c.counted.nodes))
		c.counted.nodes = nodes
	}
	// A worker's lost leases are in the tree's own counters; what they grew by has expired.
	lost := make(map[string]int, len(t.Workers))
	for _, w := range t.Workers {
		lost[w.Name] = w.Lost
		if grown := w.Lost - c.counted.expired[w.Name]; grown > 0 {
			m.expired.WithLabelValues(c.Name).Add(float64(grown))
		}
	}
	c.counted.expired = lost
}
