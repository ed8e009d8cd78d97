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

// line is a status in one line: what is done and how much of it, the speed, the time, and what is known.
func (m *meter) line(r *farmv1.StatusResponse) string {
	nodes := r.GetNodes() + r.GetRunningNodes()
	speed := m.rate.Of(nodes, time.Duration(r.GetSeconds()*float64(time.Second)))
	name := r.GetCampaign().GetBoard()
	if len(r.GetCampaigns()) > 1 {
		name = r.GetCampaign().GetName()
	}
	parts := []string{name + " " + doing(r)}
	if r.GetPhase().GetName() == "searching" {
		parts = append(parts, count(speed)+" nodes/s")
	}
	parts = append(parts, duration(r.GetSeconds()))
	if text := movesSettled(r.GetFirstMoves()); text != "" && r.GetWinner() == "" {
		parts = append(parts, text)
	}
	if r.GetWinner() != "" {
		parts = append(parts, "winner "+r.GetWinner())
	}
	parts = append(parts, count(nodes)+" nodes")
	if phi, delta := r.GetRootPhi(), r.GetRootDelta(); r.GetWinner() == "" && max(phi, delta) > 1 {
		parts = append(parts, fmt.Sprintf("work left: %s to prove a win, %s a loss", numberText(phi),
			numberText(delta)))
	}
	if m.memory != nil {
		parts = append(parts, "memory "+cli.FormatSize(m.memory()))
	} else {
		parts = append(parts, counted(r.GetWorkers(), "worker"))
	}
	return strings.Join(parts, ", ")
}

// doing says what is done for a campaign now, and how much of it.
func doing(r *farmv1.StatusResponse) string {
	p := r.GetPhase()
	share := ""
	if p.GetTotal() > 0 {
		share = fmt.Sprintf(" %.0f %%", 100*min(1, float64(p.GetDone())/float64(p.GetTotal())))
	}
	switch p.GetName() {
	case "":
		return r.GetState() + " (" + r.GetWhy() + ")"
	case "extracting":
		return "extracting evidence: " + count(p.GetDone()) + " positions proved"
	case "delivering":
		return "delivering evidence" + share
	case "verifying":
		return fmt.Sprintf("verifying: %d of %d parts%s", p.GetDone(), p.GetTotal(), share)
	case "checking":
		return "checking the proof" + share
	case "assembling":
		return "assembling the proof"
	}
	return p.GetName()
}

// movesSettled says how many first moves are decided, the share of them in percent. It is empty while
// nothing is known of them: they are one lease.
func movesSettled(moves []*farmv1.FirstMove) string {
	won, lost := 0, 0
	for _, f := range moves {
		switch f.GetVerdict() {
		case farmv1.Verdict_VERDICT_WON:
			won++
		case farmv1.Verdict_VERDICT_LOST:
			lost++
		}
	}
	if won+lost == 0 {
		return ""
	}
	text := fmt.Sprintf("first moves %d of %d refuted (%d %%)", lost, len(moves), 100*lost/len(moves))
	if won > 0 {
		text += ", " + counted(won, "win")
	}
	return text
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
