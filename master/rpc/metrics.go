package rpc

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// states are the values of a campaign's state, in the order in which it goes through them.
var states = []string{StateRunning, StatePaused, StateDraining, StateAssembling, StateVerifying, StateSettled, StateStopped}

// Metrics are the figures of a master. No label is ever a position, a lease or a worker: their number has no bound.
type Metrics struct {
	rootPhi, rootDelta prometheus.Gauge
	facts              *prometheus.GaugeVec   // by outcome
	firstMoves         *prometheus.GaugeVec   // by outcome
	firstMovesSettled  prometheus.Gauge       // share
	nodes              prometheus.Counter     // of committed results
	granted            prometheus.Counter     //
	expired            prometheus.Counter     //
	returned           *prometheus.CounterVec // by outcome
	cancelled          prometheus.Counter     //
	refused            prometheus.Counter     //
	running, frontier  prometheus.Gauge
	setAside, tree     prometheus.Gauge
	workers            prometheus.Gauge
	queue              prometheus.Gauge
	batch              prometheus.Histogram
	commit             prometheus.Histogram
	certificates       prometheus.Gauge
	certificateBytes   prometheus.Gauge
	verifications      *prometheus.CounterVec // by result
	state              *prometheus.GaugeVec   // by state, 0 or 1
	contradictions     prometheus.Counter
	falseCertificates  prometheus.Counter
	offences           *prometheus.CounterVec // by kind
	short              prometheus.Counter
	quarantines        prometheus.Counter
	quarantinedJoins   prometheus.Counter
	quarantined        prometheus.Gauge
	spacePauses        prometheus.Counter
	stalled            *prometheus.CounterVec // by why
}

// NewMetrics registers the figures of a master; all label values are there from the start, at zero.
func NewMetrics(r prometheus.Registerer) *Metrics {
	gauge := func(name, help string) prometheus.Gauge {
		g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "master", Name: name, Help: help})
		r.MustRegister(g)
		return g
	}
	counter := func(name, help string) prometheus.Counter {
		c := prometheus.NewCounter(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "master", Name: name, Help: help})
		r.MustRegister(c)
		return c
	}
	gauges := func(name, help, label string, values ...string) *prometheus.GaugeVec {
		g := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: "amazons", Subsystem: "master", Name: name, Help: help}, []string{label})
		for _, v := range values {
			g.WithLabelValues(v)
		}
		r.MustRegister(g)
		return g
	}
	counters := func(name, help, label string, values ...string) *prometheus.CounterVec {
		c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "amazons", Subsystem: "master", Name: name, Help: help}, []string{label})
		for _, v := range values {
			c.WithLabelValues(v)
		}
		r.MustRegister(c)
		return c
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		h := prometheus.NewHistogram(prometheus.HistogramOpts{Namespace: "amazons", Subsystem: "master", Name: name, Help: help,
			Buckets: buckets, NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 100, NativeHistogramMinResetDuration: time.Hour})
		r.MustRegister(h)
		return h
	}
	return &Metrics{
		rootPhi:           gauge("root_proof_number", "Proof number of the root: how far its side to move is from a proved win. 0 when it is won."),
		rootDelta:         gauge("root_disproof_number", "Disproof number of the root: how far its side to move is from a proved loss. 0 when it is lost."),
		facts:             gauges("facts", "Proved positions in the store, by outcome for their side to move.", "outcome", "won", "lost"),
		firstMoves:        gauges("first_moves", "Moves of the root that the tree knows, by outcome for the side that plays them.", "outcome", "open", "won", "lost"),
		firstMovesSettled: gauge("first_moves_settled_ratio", "Share of the root's moves in the tree whose outcome is known."),
		nodes:             counter("nodes_total", "Positions that workers expanded, in committed results of this campaign."),
		granted:           counter("leases_granted_total", "Leases sent to workers."),
		expired:           counter("leases_expired_total", "Leases freed because their worker left or was silent."),
		returned:          counters("leases_returned_total", "Leases that came back with a result, by outcome for the side to move.", "outcome", "open", "won", "lost"),
		cancelled:         counter("leases_cancelled_total", "Leases asked back before their budget was spent."),
		refused:           counter("messages_refused_total", "Results and facts of workers that were not taken: stale lease or missing evidence."),
		running:           gauge("leases_running", "Leases that workers hold now."),
		frontier:          gauge("frontier_positions", "Unsolved leaves of the tree that matter to the root; the leased ones are among them."),
		setAside:          gauge("set_aside_positions", "Positions whose leases were lost too often; they are leased last."),
		tree:              gauge("tree_positions", "Positions in the master's tree."),
		workers:           gauge("workers_connected", "Workers with an open work stream."),
		queue:             gauge("queued_events", "Events that wait for the loop that owns the tree, when it last looked."),
		batch:             histogram("batch_events", "Events that the loop stepped the tree for in one commit.", []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}),
		commit:            histogram("store_commit_duration_seconds", "Time the loop waited for one commit of the store.", prometheus.ExponentialBuckets(0.0005, 2, 14)),
		certificates:      gauge("certificates", "Certificates of workers in the store."),
		certificateBytes:  gauge("certificate_bytes", "Bytes of the certificates of workers in the store."),
		verifications:     counters("verifications_total", "Checks of an assembled certificate, by result.", "result", "passed", "failed"),
		state:             gauges("campaign_state", "1 for the state the campaign is in, 0 for the others.", "state", states...),
		falseCertificates: counter("false_certificates_total", "Certificates of workers that do not prove what they claim. None of them is stored."),
		offences:          counters("worker_offences_total", "What workers did that no sound one does, by kind. A few of them quarantine a worker.", "kind", offenceKinds...),
		short:             counter("results_short_total", "Results that came back open before their budget was used, unasked. Many from one worker are suspicious."),
		quarantines:       counter("workers_quarantined_total", "Times that a worker was one too many, and all of its certificate, or of its name without one, were quarantined."),
		quarantinedJoins:  counter("quarantined_joins_total", "Tries to join by workers that are quarantined. All are refused."),
		quarantined:       gauge("quarantined_parties", "Certificates, and names without one, whose workers may not join until an operator releases them."),
		stalled:           counters("uploads_stalled_total", "Uploads ended because nothing came for long, or too slowly. Their workers try again.", "why", stallIdle, stallSlow),
		spacePauses:       counter("space_pauses_total", "Times the campaign paused because the disk of its store had no room. It goes on by itself."),
		contradictions:    counter("contradictions_total", "Pairs of facts that contradict each other. One stops the campaign."),
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
