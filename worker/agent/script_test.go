package agent

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"

	"github.com/cockroachdb/datadriven"
)

// TestScripts runs the scripts of testdata/machine. What follows a command's ---- is the trace of
// the effects; -rewrite writes them anew. The commands:
//
//	new [max-waiting=N] [idle=TIME] [max-sends=N]   a machine, and its first Tick
//	joined [session=S]     heartbeats come every second
//	lost [refused|again|expired]   the stream broke, or Join failed; again: facts were taken back; expired: by the
//	                       master's clock our credential has
//	lease ID [epoch=N] [budget=N] [campaign=N] [patient] [bad]
//	cancel ID   no-work   hold   finished   ack SERIAL [refused|facts-refused]
//	news                   facts that others have proved
//	searching NODES        progress of the slice
//	searched NODES [won] [solved] [interrupted]
//	gathered [facts] [hints]   what a Gather brought: all facts that were asked for, hints
//	uploaded [refused|failed]
//	drain
//	pass TIME [quiet]      Ticks whenever the machine wants one; quiet leaves heartbeats out
func TestScripts(t *testing.T) {
	datadriven.Walk(t, "testdata/machine", func(t *testing.T, path string) {
		s := &script{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) })
	})
}

// script is a machine and what it asked for last.
type script struct {
	m      *Machine
	now    time.Duration
	gather Gather
}

func (s *script) run(t *testing.T, d *datadriven.TestData) string {
	number := func(key string, otherwise uint64) uint64 { d.MaybeScanArgs(t, key, &otherwise); return otherwise }
	first := uint64(0)
	if len(d.CmdArgs) > 0 {
		fmt.Sscan(d.CmdArgs[0].Key, &first)
	}
	switch d.Cmd {
	case "new":
		c := Config{Name: "w", Cores: 1, MaxWaiting: int(number("max-waiting", 0)),
			MaxSends: int(number("max-sends", 0))}
		if idle := ""; d.MaybeScanArgs(t, "idle", &idle) {
			c.IdleTimeout, _ = time.ParseDuration(idle)
		}
		var err error
		if s.m, err = NewMachine(c, s.now); err != nil {
			return err.Error() + "\n"
		}
		return s.step(Tick{})
	case "joined":
		return s.step(Joined{Session: &farmv1.JoinResponse{Session: "s", HeartbeatSeconds: 1, MinFactNodes: 10,
			Campaign: &farmv1.Campaign{Board: "4x4", Root: start().String()}, MaxFactsPerMessage: 100}})
	case "lost":
		if d.HasArg("expired") {
			return s.step(Lost{Err: fmt.Errorf("%w: %s", ErrRefused, expired)})
		}
		if d.HasArg("refused") {
			return s.step(Lost{Err: fmt.Errorf("%w: another version", ErrRefused)})
		}
		return s.step(Lost{Err: errors.New("it broke"), Jitter: 1, Again: d.HasArg("again")})
	case "lease":
		l := &farmv1.Lease{Id: first, Epoch: number("epoch", 1), Key: farmv1.WriteKey(rootKey()),
			BudgetNodes: number("budget", 1_000_000), Patient: d.HasArg("patient")}
		if d.HasArg("bad") {
			l.Key = nil
		}
		if n := number("campaign", 0); n > 0 {
			l.Campaign = &farmv1.Campaign{Number: uint32(n), Board: "4x4", Root: start().String()}
		}
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: l}})
	case "cancel":
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Cancel{Cancel: &farmv1.Cancel{Lease: first}}})
	case "no-work":
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_NoWork{NoWork: &farmv1.NoWork{}}})
	case "hold":
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Hold{Hold: &farmv1.Hold{}}})
	case "finished":
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Finished{Finished: &farmv1.Finished{}}})
	case "ack":
		ack := &farmv1.Ack{Serial: first}
		if ack.FactsRefused = d.HasArg("facts-refused"); ack.FactsRefused || d.HasArg("refused") {
			ack.Refused = "stale"
		}
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Ack{Ack: ack}})
	case "news":
		return s.receive(&farmv1.WorkResponse{Kind: &farmv1.WorkResponse_News{News: &farmv1.News{
			Facts: farmv1.WriteFacts([]proof.Fact{{Key: childKey(), Verdict: eval.Won, Nodes: 20}})}}})
	case "searching":
		return s.step(Searching{Nodes: first})
	case "searched":
		return s.step(Searched{Result: s.result(d, first), Interrupted: d.HasArg("interrupted")})
	case "gathered":
		return s.step(s.gathered(d))
	case "uploaded":
		switch {
		case d.HasArg("refused"):
			return s.step(Uploaded{fmt.Errorf("%w: not a certificate", errUpload)})
		case d.HasArg("failed"):
			return s.step(Uploaded{errors.New("cut off")})
		}
		return s.step(Uploaded{})
	case "drain":
		return s.step(Drain{})
	case "pass":
		return s.pass(t, d.CmdArgs[0].Key, d.HasArg("quiet"))
	}
	t.Fatalf("unknown command %s", d.Cmd)
	return ""
}

func (s *script) receive(m *farmv1.WorkResponse) string { return s.step(Received{m}) }

// result is what a slice of so many nodes found out.
func (s *script) result(d *datadriven.TestData, nodes uint64) Result {
	r := Result{Phi: 3, Delta: 4, Nodes: nodes, Children: []numbers.Child{{Key: childKey(), Phi: 1, Delta: 2}}}
	if d.HasArg("won") {
		r.Verdict, r.Children = eval.Won, nil
	}
	if d.HasArg("solved") {
		r.Solved = []proof.Fact{{Key: childKey(), Verdict: eval.Lost, Nodes: 50}}
	}
	return r
}

// gathered is what the last Gather brought.
func (s *script) gathered(d *datadriven.TestData) Gathered {
	var g Gathered
	if d.HasArg("facts") {
		data := []byte("a certificate")
		g.Parts = []Part{partOf(data, s.gather.Facts)}
	}
	if d.HasArg("hints") {
		g.Hints = []byte("hints")
	}
	return g
}

// pass lets time pass.
func (s *script) pass(t *testing.T, text string, quiet bool) string {
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	until := s.now + d
	var out strings.Builder
	for s.m.Wake() <= until && !s.m.over {
		s.now = s.m.Wake()
		trace := s.step(Tick{})
		if !(trace == "ok\n" || quiet && strings.HasPrefix(trace, "send Progress") && strings.Count(trace, "\n") == 1) {
			fmt.Fprintf(&out, "at %v:\n%s", s.now, trace)
		}
	}
	s.now = until
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

// step gives the machine an event and returns the trace of what follows.
func (s *script) step(ev Event) string {
	var out strings.Builder
	for _, e := range s.m.Step(s.now, ev) {
		switch e := e.(type) {
		case Join:
			fmt.Fprintln(&out, "join")
		case HangUp:
			fmt.Fprintln(&out, "hang up:", e.Err)
		case Send:
			fmt.Fprintln(&out, "send", message(e.Message))
		case Upload:
			fmt.Fprintf(&out, "upload facts=%d campaign=%d\n", len(e.Part.Facts), e.Campaign)
		case Equip:
			fmt.Fprintf(&out, "equip board=%v rules-only=%v\n", e.Config.Board, e.Config.RulesOnly)
		case Search:
			fmt.Fprintf(&out, "search budget=%d limit=%v\n", e.Job.Budget, e.Limit)
		case Gather:
			s.gather = e
			fmt.Fprintf(&out, "gather facts=%d limit=%v last=%v\n", len(e.Facts), e.Limit, e.Last)
		case Learn:
			fmt.Fprintf(&out, "learn facts=%d\n", len(e.Facts))
		case Stop:
			fmt.Fprintln(&out, "stop")
		case Forget:
			fmt.Fprintf(&out, "forget%s\n", map[bool]string{true: " what it was told"}[e.Told])
		case End:
			fmt.Fprintln(&out, "end:", e.Err)
		}
	}
	if out.Len() == 0 {
		return "ok\n"
	}
	return out.String()
}

// message is a message in one line.
func message(m *farmv1.WorkRequest) string {
	switch k := m.Kind.(type) {
	case *farmv1.WorkRequest_Hello:
		return "Hello " + k.Hello.Session
	case *farmv1.WorkRequest_Ready:
		return "Ready"
	case *farmv1.WorkRequest_Progress:
		return fmt.Sprintf("Progress lease=%d/%d nodes=%d", k.Progress.Epoch, k.Progress.Lease, k.Progress.Nodes)
	case *farmv1.WorkRequest_Facts:
		f := k.Facts
		return fmt.Sprintf("Facts serial=%d lease=%d/%d nodes=%d facts=%d hints=%d", f.Serial, f.Epoch, f.Lease,
			f.Nodes,
			len(f.Facts), len(f.Hints))
	case *farmv1.WorkRequest_Result:
		r := k.Result
		text := fmt.Sprintf("Result serial=%d lease=%d/%d %v nodes=%d facts=%d hints=%d", r.Serial, r.Epoch, r.Lease,
			strings.ToLower(strings.TrimPrefix(r.Verdict.String(), "VERDICT_")), r.Nodes, len(r.Facts), len(r.Hints))
		if r.Cancelled {
			text += " cancelled"
		}
		return text
	case *farmv1.WorkRequest_Goodbye:
		return "Goodbye " + k.Goodbye.Reason
	}
	return "?"
}
