package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"strings"

	campaigns "amazonsfarm/master/campaign"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/checker"
)

// exited judges the end of a process.
func (c *campaign) exited(e exit) error {
	p := e.process
	p.cmd = nil
	if what := p.crashed(); what != "" {
		return fmt.Errorf("%s crashed: %s", p.name, what)
	}
	if p.killed {
		c.say("%s is dead", p.name)
		if p == c.master {
			return c.ledger.audit(c.store())
		}
		return nil
	}
	c.say("%s ended by itself with exit code %d", p.name, e.code)
	if e.code == 0 {
		p.ended = true
		c.over = c.over || p == c.master
		return nil
	}
	words := fmt.Sprintf("%s ended with exit code %d: %s", p.name, e.code, p.last())
	c.ends = append(c.ends, words)
	if p == c.master {
		if err := c.ledger.audit(c.store()); err != nil {
			return err
		}
		if e.code != 1 {
			return errors.New(words) // contradictions, false certificates, stores that cannot be read
		}
		if c.stops++; c.stops > restarts {
			c.stopped = words
			return nil
		}
	}
	c.reviveAfter(again, p)
	return nil
}

// judge looks at what the campaign has left: the answer is the known one, the checker accepts the
// certificate, the store is whole and has what was acknowledged.
func (c *campaign) judge() error {
	if err := c.ledger.audit(c.store()); err != nil {
		return err
	}
	if err := farm.Do(context.Background(), c.programs.master, "store", "check", c.store()); err != nil {
		return err
	}
	if c.stopped != "" {
		return nil
	}
	data, err := exec.Command(c.programs.master, "verify", "--store", c.store(), "--json").CombinedOutput()
	if err != nil {
		return fmt.Errorf("the store does not verify: %w: %s", err, data)
	}
	var said struct {
		Verified bool
		Store    campaigns.StoreReport
	}
	if err := json.Unmarshal(data, &said); err != nil {
		return fmt.Errorf("what the store says %q: %w", data, err)
	}
	if !said.Verified || len(said.Store.Campaigns) != len(c.campaigns()) {
		return fmt.Errorf("the store is not verified, or not of %d campaigns: %s", len(c.campaigns()), data)
	}
	for i, board := range c.campaigns() {
		of := said.Store.Campaigns[i]
		c.answers = append(c.answers, of.Winner)
		if of.Board != board || !of.Settled || of.Winner != boards[board].winner {
			return fmt.Errorf("the store's answer is not that the %s player wins %s: %s", boards[board].winner, board,
				data)
		}
		if words := fmt.Sprintf("%s: the %s player wins", board, of.Winner); !strings.Contains(c.master.said(), words) {
			return fmt.Errorf("the master did not say that %s: %s", words, c.master.said())
		}
		if err := c.judgeProof(board, c.proofs()[i]); err != nil {
			return err
		}
	}
	return nil
}

// judgeProof has the checker look at the certificate of a board.
func (c *campaign) judgeProof(board, file string) error {
	data, err := exec.Command(c.programs.checker, "--json", file).Output()
	if err != nil {
		return fmt.Errorf("the checker refuses the certificate: %w: %s", err, data)
	}
	var checked struct {
		Verified bool
		Report   checker.Report
	}
	if err := json.Unmarshal(data, &checked); err != nil {
		return err
	}
	want := map[string]string{"first": "win", "second": "loss"}[boards[board].winner]
	if roots := checked.Report.Roots; !checked.Verified || len(roots) != 1 || roots[0].Claim != want ||
		roots[0].Position != startOf(board) {
		return fmt.Errorf("the certificate proves something else: %s", data)
	}
	return nil
}
