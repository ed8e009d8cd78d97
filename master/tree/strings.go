package tree

import "fmt"

// String returns the event as a line of a trace.
func (e Joined) String() string { return fmt.Sprintf("joined %s slots=%d", e.Worker, e.Slots) }

// String returns the event as a line of a trace.
func (e Left) String() string { return "left " + e.Worker }

// String returns the event as a line of a trace.
func (e Ready) String() string { return "ready " + e.Worker }

// String returns the event as a line of a trace.
func (e Progress) String() string {
	return fmt.Sprintf("progress %s lease=%d/%d nodes=%d", e.Worker, e.Epoch, e.Lease, e.Nodes)
}

// String returns the event as a line of a trace.
func (e Result) String() string {
	s := fmt.Sprintf("result %s lease=%d/%d %s phi=%d delta=%d nodes=%d children=%d facts=%d",
		e.Worker, e.Epoch, e.Lease, e.Verdict, e.Phi, e.Delta, e.Nodes, len(e.Children), len(e.Facts))
	if e.Cancelled {
		s += " cancelled"
	}
	return s
}

// String returns the event as a line of a trace.
func (e Proved) String() string { return fmt.Sprintf("proved %s facts=%d", e.Worker, len(e.Facts)) }

// String returns the event as a line of a trace.
func (Tick) String() string { return "tick" }

// String returns the event as a line of a trace.
func (e Distrusted) String() string { return "distrusted " + e.Party }

// String returns the event as a line of a trace.
func (Pause) String() string { return "pause" }

// String returns the event as a line of a trace.
func (Resume) String() string { return "resume" }

// String returns the event as a line of a trace.
func (Drain) String() string { return "drain" }

// String returns the effect as a line of a trace.
func (e Persist) String() string {
	expanded := 0
	for _, n := range e.Nodes {
		if n.Expanded {
			expanded++
		}
	}
	s := fmt.Sprintf("persist nodes=%d expanded=%d facts=%d spent=%d epoch=%d", len(e.Nodes), expanded, len(e.Facts),
		e.Spent, e.Epoch)
	if e.Contradiction != nil {
		s += " contradiction"
	}
	return s
}

// String returns the effect as a line of a trace.
func (e Grant) String() string {
	s := fmt.Sprintf("grant %s lease=%d/%d key=%s budget=%d facts=%d",
		e.Worker, e.Lease.Epoch, e.Lease.ID, keyName(e.Lease.Key), e.Lease.Budget, len(e.Lease.Facts))
	if e.Lease.Check {
		s += " check"
	}
	return s
}

// String returns the effect as a line of a trace.
func (e Checked) String() string {
	if e.Agreed {
		return fmt.Sprintf("checked %s lease=%d: confirmed", e.Worker, e.Lease)
	}
	return fmt.Sprintf("checked %s lease=%d: %s", e.Worker, e.Lease, e.Why)
}

// String returns the effect as a line of a trace.
func (e Inform) String() string { return fmt.Sprintf("inform %s facts=%d", e.Worker, len(e.Facts)) }

// String returns the effect as a line of a trace.
func (e Cancel) String() string {
	return fmt.Sprintf("cancel %s lease=%d/%d: %s", e.Worker, e.Epoch, e.Lease, e.Reason)
}

// String returns the effect as a line of a trace.
func (e NoWork) String() string { return fmt.Sprintf("no work for %s: %s", e.Worker, e.Reason) }

// String returns the effect as a line of a trace.
func (e Settled) String() string {
	if e.NoGivenMoveWins {
		return "settled: no given first move wins"
	}
	return "settled: " + e.Verdict.String()
}

// String returns both sides in words.
func (e Contradiction) String() string {
	return fmt.Sprintf("contradiction at %s: known %s, now %s", keyName(e.Key), e.Known, e.Claim)
}

// String returns the claim in words.
func (c Claim) String() string {
	s := fmt.Sprintf("%s by %s", c.Verdict, c.Basis)
	if c.Basis == ByFact {
		s += fmt.Sprintf(" (certificate %s)", c.Fact.Certificate)
	}
	if c.Worker != "" {
		s += " of " + c.Worker
	}
	return s
}

// String returns the effect as a line of a trace.
func (e Refused) String() string {
	if e.Lease == 0 {
		return fmt.Sprintf("refused %s: %s", e.Worker, e.Why)
	}
	return fmt.Sprintf("refused %s lease=%d: %s", e.Worker, e.Lease, e.Why)
}
