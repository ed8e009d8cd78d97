package main

import (
	"context"
	"fmt"
	"time"
)

// half is what campaigns of a bout have brought, with hostile clients or without.
type half struct {
	campaigns           int
	seconds, cpu, nodes float64
	peak                int64
}

func (h *half) add(o *outcome) {
	h.campaigns++
	h.seconds, h.cpu, h.nodes = h.seconds+o.seconds, h.cpu+o.honestCPU, h.nodes+o.honestNodes
	h.peak = max(h.peak, o.peak)
}

func (h *half) row(name string) string {
	return fmt.Sprintf("| %s | %d | %.1f | %.0f | %.0f | %.0f | %d |", name, h.campaigns,
		h.seconds/float64(h.campaigns), h.nodes/float64(h.campaigns), h.nodes/h.seconds, h.nodes/h.cpu, h.peak>>20)
}

// bout plays campaigns until the minutes are over: in turns without hostile clients and with clients that
// choose among all kinds, two with credentials after two without. The master is killed at even times, in
// campaigns with hostile clients.
func (s *settings) bout(ctx context.Context) error {
	began, length := time.Now(), time.Duration(s.minutes*float64(time.Minute))
	var halves [2]half
	var table rows
	killed := 0
	s.due = func() bool {
		if time.Since(began) < length*time.Duration(2*killed+1)/time.Duration(2*s.kills) {
			return false
		}
		killed++
		return true
	}
	due := s.due
	for round := 0; (time.Since(began) < length || round%2 == 1) && ctx.Err() == nil; round++ {
		with := round % 2
		s.mtls = round/2%2 == 1
		s.due = nil
		name, choice := fmt.Sprintf("%d without", round/2+1), []kind(nil)
		if with == 1 {
			name, choice, s.due = fmt.Sprintf("%d with", round/2+1), kinds, due
			s.seed++
		}
		if s.mtls {
			name += ", credentials"
		}
		r, err := s.play(ctx, name, choice)
		if err != nil {
			return err
		}
		table.add(r)
		halves[with].add(r)
	}
	fmt.Printf("\n| hostile clients | campaigns | s a campaign | honest nodes a campaign | honest nodes a second | " +
		"a CPU second | master MiB |\n| --- | --- | --- | --- | --- | --- | --- |\n")
	fmt.Println(halves[0].row("none"))
	fmt.Println(halves[1].row(fmt.Sprint(s.clients)))
	ratio := func(of func(h *half) float64) float64 { return of(&halves[1]) / of(&halves[0]) }
	fmt.Printf("\nwith hostile clients %.2f of the honest nodes a second, %.2f of those a CPU second; the master was "+
		"killed %d times\n", ratio(func(h *half) float64 { return h.nodes / h.seconds }),
		ratio(func(h *half) float64 { return h.nodes / h.cpu }), killed)
	return table.err()
}
