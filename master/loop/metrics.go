package loop

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/master/trust"
	"amazonsfarm/shared/eval"
)

// states are the values of a campaign's state, in the order in which it goes through them.
var states = []string{StateRunning, StatePaused, StateDraining, StateAssembling, StateVerifying, StateSettled,
	StateStopped, StateEnded}

// Metrics are the figures of a master. No label is ever a position, a lease or a worker: their
// number has no bound. That of campaigns has one.
type Metrics struct {
	rootPhi, rootDelta *prometheus.GaugeVec   // by campaign, as all vectors to frontier
	facts              *prometheus.GaugeVec   // and by outcome
	firstMoves         *prometheus.GaugeVec   // and by outcome
	firstMovesSettled  *prometheus.GaugeVec   // share
	nodes              *prometheus.CounterVec // of committed results
	granted            *prometheus.CounterVec
	expired            *prometheus.CounterVec
	returned           *prometheus.CounterVec // and by outcome
	cancelled          *prometheus.CounterVec
	running, frontier  *prometheus.GaugeVec
	setAside, tree     *prometheus.GaugeVec
	state              *prometheus.GaugeVec // and by state, 0 or 1
	priority, share    *prometheus.GaugeVec
	refused            prometheus.Counter
	workers            prometheus.Gauge
	queue              prometheus.Gauge
	batch              prometheus.Histogram
	commit             prometheus.Histogram
	certificates       prometheus.Gauge
	certificateBytes   prometheus.Gauge
	verifications      *prometheus.CounterVec // by result
	contradictions     prometheus.Counter
	falseCertificates  prometheus.Counter
	offences           *prometheus.CounterVec // by kind
	short              prometheus.Counter
	quarantines        prometheus.Counter
	quarantinedJoins   prometheus.Counter
	quarantined        prometheus.Gauge
	spacePauses        prometheus.Counter
	stalled            *prometheus.CounterVec // by why
	checks             *prometheus.CounterVec // by result
	claims             *prometheus.GaugeVec   // by campaign
	stretch            *prometheus.GaugeVec   // by campaign
	requeued           prometheus.Counter
}

// campaignMetrics are the figures of one campaign.
type campaignMetrics struct {
	rootPhi, rootDelta, firstMovesSettled, running, frontier, setAside, claims, stretch, tree, priority,
	share prometheus.Gauge
	nodes, granted, expired, cancelled prometheus.Counter
	// by outcome
	returned                 map[string]prometheus.Counter
	facts, firstMoves, state map[string]prometheus.Gauge
}

var (
	outcomes = []string{"won", "lost"}
	verdicts = []string{"open", "won", "lost"}
)

// Campaign makes the figures of a campaign, at zero.
func (m *Metrics) Campaign(name string) { m.of(name) }

// of returns the figures of a campaign, at zero where it is new.
func (m *Metrics) of(name string) *campaignMetrics {
	gauges := func(v *prometheus.GaugeVec, values []string) map[string]prometheus.Gauge {
		all := map[string]prometheus.Gauge{}
		for _, value := range values {
			all[value] = v.WithLabelValues(name, value)
		}
		return all
	}
	c := &campaignMetrics{
		rootPhi: m.rootPhi.WithLabelValues(name), rootDelta: m.rootDelta.WithLabelValues(name),
		firstMovesSettled: m.firstMovesSettled.WithLabelValues(name),
		running:           m.running.WithLabelValues(name), frontier: m.frontier.WithLabelValues(name),
		setAside: m.setAside.WithLabelValues(name), claims: m.claims.WithLabelValues(name),
		stretch: m.stretch.WithLabelValues(name),
		tree:    m.tree.WithLabelValues(name), priority: m.priority.WithLabelValues(name),
		share: m.share.WithLabelValues(name),
		nodes: m.nodes.WithLabelValues(name), granted: m.granted.WithLabelValues(name),
		expired: m.expired.WithLabelValues(name), cancelled: m.cancelled.WithLabelValues(name),
		facts: gauges(m.facts, outcomes), firstMoves: gauges(m.firstMoves, verdicts),
		state:    gauges(m.state, states),
		returned: map[string]prometheus.Counter{},
	}
	for _, outcome := range verdicts {
		c.returned[outcome] = m.returned.WithLabelValues(name, outcome)
	}
	return c
}

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
		c.metrics.measure(c, v)
		x.workers.Set(float64(v.Connected))
		x.quarantined.Set(float64(v.Quarantined))
		x.certificates.Set(float64(v.Certs))
		x.certificateBytes.Set(float64(v.CertBytes))
		x.checks.WithLabelValues(checkUnsettled).Add(float64(v.Tree.Unsettled - c.counted.unsettled))
		x.requeued.Add(float64(v.Tree.Requeued - c.counted.requeued))
		c.counted.unsettled, c.counted.requeued = v.Tree.Unsettled, v.Tree.Requeued
	}
}

// measure brings the figures of a campaign up to date.
func (x *campaignMetrics) measure(c *campaign, v View) {
	t := v.Tree
	x.rootPhi.Set(float64(t.Phi))
	x.rootDelta.Set(float64(t.Delta))
	x.facts["won"].Set(float64(t.FactsWon))
	x.facts["lost"].Set(float64(t.FactsLost))
	moves := map[eval.Verdict]int{}
	for _, f := range t.FirstMoves {
		moves[f.Verdict]++
	}
	x.firstMoves["open"].Set(float64(moves[eval.Open]))
	x.firstMoves["won"].Set(float64(moves[eval.Lost])) // of the position after it
	x.firstMoves["lost"].Set(float64(moves[eval.Won]))
	if n := len(t.FirstMoves); n > 0 {
		x.firstMovesSettled.Set(float64(n-moves[eval.Open]) / float64(n))
	}
	if t.Spent > c.counted.nodes {
		x.nodes.Add(float64(t.Spent - c.counted.nodes))
		c.counted.nodes = t.Spent
	}
	x.running.Set(float64(t.Leased))
	x.frontier.Set(float64(t.Frontier))
	x.setAside.Set(float64(t.Aside))
	x.claims.Set(float64(t.Unchecked))
	x.stretch.Set(t.Stretch)
	x.tree.Set(float64(t.Nodes))
	x.priority.Set(float64(v.Priority))
	x.share.Set(float64(v.Share))
	for _, s := range states {
		value := 0.0
		if s == v.State {
			value = 1
		}
		x.state[s].Set(value)
	}
	// A worker's lost leases are in the tree's own counters; what they grew by has expired.
	lost := make(map[string]int, len(t.Workers))
	for _, w := range t.Workers {
		lost[w.Name] = w.Lost
		if grown := w.Lost - c.counted.expired[w.Name]; grown > 0 {
			x.expired.Add(float64(grown))
		}
	}
	c.counted.expired = lost
}

// NewMetrics registers the figures of a master; all label values are there from the start, at zero,
// those of a campaign once there is one.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help: help})
		r.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help: help})
		r.MustRegister(c)
		return c
	}
	gauges := func(name, help string, labels ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help: help}, append([]string{"campaign"}, labels...))
		r.MustRegister(g)
		return g
	}
	each := func(name, help string, labels ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help: help}, append([]string{"campaign"}, labels...))
		r.MustRegister(c)
		return c
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help: help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v)
		}
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "amazons", Subsystem: "master", Name: name,
			Help:    help,
			Buckets: buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100,
			NativeHistogramMinResetDuration: time.Hour})
		r.MustRegister(h)
		return h
	}
	return &Metrics{
		rootPhi: gauges("root_proof_number",
			"Proof number of the root: how far its side to move is from a proved win. 0 when it is won."),
		rootDelta: gauges("root_disproof_number",
			"Disproof number of the root: how far its side to move is from a proved loss. 0 when it is lost."),
		facts: gauges("facts", "Proved positions in the store, by outcome for their side to move.",
			"outcome"),
		firstMoves: gauges("first_moves", "Moves of the root that the tree knows, by outcome for the side that plays them.", "outcome"),
		firstMovesSettled: gauges("first_moves_settled_ratio",
			"Share of the root's moves in the tree whose outcome is known."),
		nodes:   each("nodes_total", "Positions that workers expanded, in committed results of this campaign."),
		granted: each("leases_granted_total", "Leases sent to workers."),
		expired: each("leases_expired_total", "Leases freed because their worker left or was silent."),
		returned: each("leases_returned_total",
			"Leases that came back with a result, by outcome for the side to move.", "outcome"),
		cancelled: each("leases_cancelled_total", "Leases asked back before their budget was spent."),
		refused: counter("messages_refused_total",
			"Results and facts of workers that were not taken: stale lease or missing evidence."),
		running: gauges("leases_running", "Leases that workers hold now."),
		frontier: gauges("frontier_positions",
			"Unsolved leaves of the tree that matter to the root; the leased ones are among them."),
		setAside: gauges("set_aside_positions",
			"Positions whose leases were lost too often; they are leased last."),
		tree:    gauges("tree_positions", "Positions in the master's tree."),
		workers: gauge("workers_connected", "Workers with an open work stream."),
		queue:   gauge("queued_events", "Events that wait for the loop that owns the tree, when it last looked."),
		batch: histogram("batch_events", "Events that the loop stepped the tree for in one commit.",
			[]float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}),
		commit: histogram("store_commit_duration_seconds",
			"Time the loop waited for one commit of the store.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		certificates:     gauge("certificates", "Certificates of workers in the store."),
		certificateBytes: gauge("certificate_bytes", "Bytes of the certificates of workers in the store."),
		verifications: counters("verifications_total", "Checks of an assembled certificate, by result.", "result",
			"passed", "failed"),
		state:    gauges("campaign_state", "1 for the state the campaign is in, 0 for the others.", "state"),
		priority: gauges("campaign_priority", "Priority of the campaign: the higher goes first."),
		share:    gauges("campaign_share", "Share of the work, among the campaigns of one priority."),
		falseCertificates: counter("false_certificates_total",
			"Certificates of workers that do not prove what they claim. None of them is stored."),
		offences: counters("worker_offences_total",
			"What workers did that no sound one does, by kind. A few of them quarantine a worker.", "kind",
			trust.Kinds...),
		short: counter("results_short_total",
			"Results that came back open before their budget was used, unasked. Many from one worker are suspicious."),
		quarantines: counter("workers_quarantined_total",
			"Times that a worker was one too many, and all of its certificate, or of its name without one, were quarantined."),
		quarantinedJoins: counter("quarantined_joins_total",
			"Tries to join by workers that are quarantined. All are refused."),
		quarantined: gauge("quarantined_parties",
			"Certificates, and names without one, whose workers may not join until an operator releases them."),
		checks: counters("checks_total",
			"Comparisons of a result with another party's search of the same position, by what came out.", "result",
			checkConfirmed, checkContradicted, checkUnsettled),
		claims: gauges("claims_waiting",
			"Results whose numbers are not taken before another party has searched their position."),
		stretch: gauges("lease_stretch",
			"How many times as long as planned leases are: more than 1 where shorter ones would bring more results than the master is to take in."),
		requeued: counter("results_requeued_total",
			"Positions that are searched again because the worker that searched them was caught."),
		stalled: counters("uploads_stalled_total",
			"Uploads ended because nothing came for long, or too slowly. Their workers try again.", "why", StallIdle, StallSlow),
		spacePauses: counter("space_pauses_total",
			"Times the campaign paused because the disk of its store had no room. It goes on by itself."),
		contradictions: counter("contradictions_total",
			"Pairs of facts that contradict each other. One stops the campaign."),
	}
}

// Verified counts a check of an assembled certificate.
func (m *Metrics) Verified(passed bool) {
	if passed {
		m.verifications.WithLabelValues("passed").Inc()
	} else {
		m.verifications.WithLabelValues("failed").Inc()
	}
}

// Why an upload was ended that did not come: the values of a metric's label.
const (
	StallIdle = "idle" // nothing came for a while
	StallSlow = "slow" // it came too slowly on the whole
)

// Stalled counts an upload that was ended because it did not come.
func (m *Metrics) Stalled(why string) { m.stalled.WithLabelValues(why).Inc() }
