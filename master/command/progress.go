package command

import (
	"fmt"
	"strings"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
)

// meter turns one status after another into lines for people. The most important words come first, since
// a narrow terminal shows no more.
type meter struct {
	rate   cli.Rate
	memory func() int64 // bytes that this process uses; nil: not shown
}

// line is a status in one line: what is done and for how long, how much of it, the speed, and what is
// known. A terminal shows it by pages if it has no room for all of it.
func (m *meter) line(r *farmv1.StatusResponse) string {
	nodes := r.GetNodes() + r.GetRunningNodes()
	first := m.rate == cli.Rate{} // no speed is known yet
	speed := m.rate.Of(nodes, time.Duration(r.GetSeconds()*float64(time.Second)))
	name, age := r.GetCampaign().GetBoard(), " "+clock(r.GetSeconds())
	if len(r.GetCampaigns()) > 1 {
		name, age = r.GetCampaign().GetName(), "" // it is that of the master
	}
	doing, detail := doing(r)
	parts := []string{name + " " + doing + age}
	if detail != "" {
		parts = append(parts, detail)
	}
	if e := r.GetEvidence(); e > 0 && r.GetWinner() == "" {
		parts = append(parts, fmt.Sprintf("evidence %.0f %%", 100*e))
	}
	if r.GetWinner() != "" {
		parts = append(parts, "winner "+r.GetWinner())
	} else if text := movesSettled(r.GetFirstMoves()); text != "" {
		parts = append(parts, text)
	}
	if r.GetPhase().GetName() == "searching" && !first {
		parts = append(parts, brief(speed)+" nodes/s")
	}
	if m.memory != nil {
		parts = append(parts, "memory "+cli.FormatSize(m.memory()))
	} else {
		parts = append(parts, cli.Counted(r.GetWorkers(), "worker"))
	}
	parts = append(parts, brief(nodes)+" nodes")
	// A number of 1 is no estimate: a first move is not searched yet.
	if phi, delta := r.GetRootPhi(), r.GetRootDelta(); r.GetWinner() == "" && min(phi, delta) > 1 {
		parts = append(parts, fmt.Sprintf("work left %s to prove a win or %s a loss", numberText(phi),
			numberText(delta)))
	}
	return strings.Join(parts, ", ")
}

// doing says what is done for a campaign now, and how much of it where that is known.
func doing(r *farmv1.StatusResponse) (phase, detail string) {
	p := r.GetPhase()
	parts := ""
	if p.GetTotal() > 0 {
		parts = fmt.Sprintf("%d of %s", p.GetDone(), cli.Counted(p.GetTotal(), "part"))
	}
	if state := r.GetState(); p.GetName() == "searching" && state != "running" {
		return state, cli.Counted(r.GetLeased(), "lease") + " under way"
	}
	switch p.GetName() {
	case "":
		return r.GetState(), r.GetWhy()
	case "extracting":
		return "extracting evidence", brief(p.GetDone()) + " positions proved"
	case "delivering":
		return "delivering evidence", share(p, cli.FormatSize(int64(p.GetTotal())))
	case "verifying":
		return "verifying", parts
	case "checking":
		return "checking the proof", share(p, brief(p.GetTotal())+" positions")
	case "assembling":
		return "assembling the proof", parts
	}
	return p.GetName(), ""
}

// share says how much of a phase is done, in percent of all of it; empty where that is not known.
func share(p *farmv1.Phase, all string) string {
	if p.GetTotal() == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f %% of %s", 100*min(1, float64(p.GetDone())/float64(p.GetTotal())), all)
}

// movesSettled says how many first moves are decided, or searched, as far as workers know: while all is one lease their
// numbers come from its search. It is empty where there are none.
func movesSettled(moves []*farmv1.FirstMove) string {
	won, lost, searched := 0, 0, 0
	for _, f := range moves {
		switch verdict := f.GetVerdict(); {
		case verdict == farmv1.Verdict_VERDICT_WON || f.GetDelta() == 0:
			won++
		case verdict == farmv1.Verdict_VERDICT_LOST || f.GetPhi() == 0:
			lost++
		case max(f.GetPhi(), f.GetDelta()) > 1 || f.GetNodes() > 0 || f.GetLeased() || f.GetExpanded():
			searched++
		}
	}
	if len(moves) == 0 {
		return ""
	}
	text := fmt.Sprintf("first moves %d of %d refuted", lost, len(moves))
	if searched > 0 {
		text += fmt.Sprintf(", %d searched", searched)
	}
	if won > 0 {
		text += ", " + cli.Counted(won, "win")
	}
	return text
}

// brief writes a number of things in few characters: 950, 48 k, 4.2 M.
func brief(n uint64) string {
	switch {
	case n >= 1_000_000_000:
		return fmt.Sprintf("%.1f G", float64(n)/1e9)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%d k", n/1000)
	}
	return fmt.Sprint(n)
}

// clock writes seconds in the few columns that a line has: 0:59, 12:05, 3:20:00.
func clock(seconds float64) string {
	s := int(seconds)
	if s < 3600 {
		return fmt.Sprintf("%d:%02d", s/60, s%60)
	}
	return fmt.Sprintf("%d:%02d:%02d", s/3600, s/60%60, s%60)
}

// duration writes seconds for people: 59 s, 12 min 5 s, 3 h 20 min.
func duration(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
}
