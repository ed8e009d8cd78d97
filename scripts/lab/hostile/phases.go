package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
)

// phaseNames are the phases of a campaign, in their order.
var phaseNames = []string{"searching", "extracting", "delivering", "verifying", "assembling", "checking"}

// delays are how long after a look that shows a phase the kill comes at most.
var delays = map[string]time.Duration{
	"searching": 2 * time.Second, "extracting": 200 * time.Millisecond, "delivering": 50 * time.Millisecond,
	"verifying": 50 * time.Millisecond, "assembling": 20 * time.Millisecond, "checking": 20 * time.Millisecond,
}

// killing plays campaigns in which masters and workers are killed at random moments of each phase.
type killing struct {
	*settings
	random *rand.Rand
	left   map[string]int // kills that are still to be made, by phase and victim
	made   map[string]int
}

// phases kills the master, and a worker, so many times in each phase, or in each of those named. Campaigns
// without a kill in between say what the work is without.
func (s *settings) phases(ctx context.Context, named []string) error {
	k := &killing{settings: s, random: rand.New(rand.NewPCG(s.seed, 5)), left: map[string]int{}, made: map[string]int{}}
	for _, phase := range phaseNames {
		if len(named) == 0 || slices.Contains(named, phase) {
			k.left[phase+" master"], k.left[phase+" worker"] = (s.kills+1)/2, s.kills/2
		}
	}
	if len(k.left) < 2*len(named) {
		return fmt.Errorf("kills %s: the phases are %s", strings.Join(named, " "), strings.Join(phaseNames, ", "))
	}
	fmt.Println("| campaign | kills | winner | verified | seconds | nodes | worker CPU s |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |")
	var plain, hard struct{ campaigns, kills, nodes, cpu float64 }
	var failed failures
	winner := ""
	end := time.Now().Add(time.Duration(s.minutes * float64(time.Minute)))
	open := func() bool { return slices.Max(slices.Collect(maps.Values(k.left))) > 0 }
	for round := 0; open() && time.Now().Before(end) && ctx.Err() == nil; round++ {
		of, kills := &plain, 0
		if round%4 > 0 {
			of, kills = &hard, 4
		}
		o, err := k.campaign(ctx, round, kills)
		if err != nil {
			return err
		}
		fmt.Printf("| %d | %d | %s | %v | %.1f | %.0f | %.2f |\n", round, o.killed, o.answer.Winner, o.answer.Verified,
			o.seconds, o.answer.Nodes, o.honestCPU)
		winner = cmp.Or(winner, o.answer.Winner)
		if o.answer.Winner != winner || !o.answer.Verified {
			failed = append(failed, fmt.Sprintf("campaign %d ended with %q, exit code %d",
				round, o.answer.Winner, o.code))
		}
		of.campaigns, of.kills = of.campaigns+1, of.kills+float64(o.killed)
		of.nodes, of.cpu = of.nodes+o.answer.Nodes, of.cpu+o.honestCPU
	}
	fmt.Println("\n| phase | kills of the master | of a worker |\n| --- | --- | --- |")
	for _, phase := range phaseNames {
		fmt.Printf("| %s | %d | %d |\n", phase, k.made[phase+" master"], k.made[phase+" worker"])
	}
	fmt.Printf("\n%.0f kills in %.0f campaigns: %.2f of the nodes and %.2f of the workers' CPU seconds "+
		"of a campaign without one (%.0f nodes, %.2f s, in the mean of %.0f)\n", hard.kills, hard.campaigns,
		hard.nodes/hard.campaigns/(plain.nodes/plain.campaigns), hard.cpu/hard.campaigns/(plain.cpu/plain.campaigns),
		plain.nodes/plain.campaigns, plain.cpu/plain.campaigns, plain.campaigns)
	return failed.err()
}

// campaign plays one campaign with so many kills at most.
func (k *killing) campaign(ctx context.Context, round, kills int) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, k.limit)
	defer cancel()
	o := &outcome{}
	// Small leases, so that there are many parts.
	m, err := k.serve(ctx, fmt.Sprint("kills-", round), []string{"--initial-budget", "4000", "--max-budget", "16000"})
	if err != nil {
		return nil, err
	}
	defer m.log.Close()
	began := time.Now()
	workers, err := m.honestWorkers()
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient("passthrough:///"+m.workers, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	control := farmv1.NewControlClient(conn)
	for m.process.Alive() && ctx.Err() == nil {
		_ = farm.Wait(ctx, 5*time.Millisecond)
		if o.killed >= kills {
			continue
		}
		phase, who := k.phaseNow(ctx, control)
		victim := k.victim(phase)
		if victim == "" {
			continue
		}
		_ = farm.Wait(ctx, time.Duration(k.random.Int64N(int64(delays[phase]))))
		if !m.process.Alive() {
			break
		}
		o.killed++
		k.left[phase+" "+victim]--
		k.made[phase+" "+victim]++
		if victim == "master" {
			m.process.Kill()
			if err := m.start(ctx); err != nil {
				return nil, err
			}
			continue
		}
		i := who
		if i < 0 || i >= len(workers) {
			i = k.random.IntN(len(workers))
		}
		workers[i].Kill()
		o.honestCPU += leave(workers[i])
		if workers[i], err = m.honestWorker(i, o.killed); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		m.process.Kill()
	}
	<-m.process.Ended
	o.seconds, o.code = time.Since(began).Seconds(), m.process.Cmd.ProcessState.ExitCode()
	for _, w := range workers {
		o.honestCPU += leave(w)
	}
	o.answer = m.answer()
	return o, nil
}

// phaseNow returns the phase of the campaign, and whose lease it is, -1 if it is nobody's.
func (k *killing) phaseNow(ctx context.Context, control farmv1.ControlClient) (string, int) {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if r, err := control.Status(ctx, &farmv1.StatusRequest{}); err != nil {
		return "", -1
	} else if name := r.GetPhase().GetName(); name != "" && name != "searching" {
		return name, -1
	} else if r.GetLeased() == 0 {
		return "", -1
	}
	r, err := control.Workers(ctx, &farmv1.WorkersRequest{})
	if err != nil {
		return "", -1
	}
	for _, w := range r.GetWorkers() {
		if name := w.GetPhase().GetName(); name != "" && name != "searching" {
			i := -1
			_, _ = fmt.Sscanf(w.GetName(), "honest-%d", &i)
			return name, i
		}
	}
	return "searching", -1
}

// victim says who is to be killed in a phase, "" if nobody is.
func (k *killing) victim(phase string) string {
	list := []string{"master", "worker"}
	k.random.Shuffle(2, func(i, j int) { list[i], list[j] = list[j], list[i] })
	for _, victim := range list {
		if k.left[phase+" "+victim] > 0 {
			return victim
		}
	}
	return ""
}
