package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/eval"
)

// record is a file of searches that were done, so that a measurement of many hours can be made in
// parts and in larger and larger budgets. Lines of JSON: first what the searches depend on, then
// one line for each search as it ends. A search of one thread from an empty table always takes the
// same nodes, so a line says what a search of any budget it covers would find. A nil record keeps
// nothing.
type record struct {
	mu    sync.Mutex
	file  *os.File
	found map[string]searched
}

// recordHead is the first line: what the nodes of a search depend on.
type recordHead struct {
	Board     string `json:"board"`
	Table     int64  `json:"table"`     // bytes
	Database  string `json:"database"`  // its configuration
	Signature uint64 `json:"signature"` // nodes that the same search takes for 5x5 from the start
}

// searched is one line: a search of Position, ended by its answer after Nodes nodes or, where
// Verdict is "open", by a budget of that many.
type searched struct {
	Position string `json:"position"`
	Verdict  string `json:"verdict"`
	Nodes    uint64 `json:"nodes"`
}

var verdicts = map[string]eval.Verdict{eval.Open.String(): eval.Open, eval.Won.String(): eval.Won,
	eval.Lost.String(): eval.Lost}

// openRecord opens the record of searches as head says, or begins one. A line that was
// cut off by a crash at the end of the file is dropped.
func openRecord(path string, head recordHead) (*record, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	r := &record{file: file, found: map[string]searched{}}
	if err := r.read(path, head); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return r, nil
}

func (r *record) read(path string, head recordHead) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	whole := text[:bytes.LastIndexByte(text, '\n')+1]
	if err := errors.Join(r.file.Truncate(int64(len(whole))), seekEnd(r.file)); err != nil {
		return err
	}
	if len(whole) == 0 {
		return r.write(head)
	}
	lines := bytes.Split(bytes.TrimSuffix(whole, []byte("\n")), []byte("\n"))
	var theirs recordHead
	if err := json.Unmarshal(lines[0], &theirs); err != nil || theirs.Board == "" {
		return cli.As(cli.ErrIncompatible, fmt.Errorf(
			"%s is no record of searches: its first line should say what they depend on; name another file", path))
	}
	if theirs != head {
		return cli.As(cli.ErrIncompatible, fmt.Errorf(
			"%s was made by other searches (%+v) than these (%+v); name another file", path, theirs, head))
	}
	for i, line := range lines[1:] {
		var s searched
		if err := json.Unmarshal(line, &s); err != nil {
			return cli.As(cli.ErrIncompatible, fmt.Errorf("%s, line %d: %w", path, i+2, err))
		}
		if v, ok := verdicts[s.Verdict]; !ok || s.Position == "" || v == eval.Open && s.Nodes == 0 {
			return cli.As(cli.ErrIncompatible, fmt.Errorf(
				"%s, line %d: a search has a position, one of the verdicts open, won and lost, and nodes "+
					"where it is open", path, i+2))
		}
		r.found[s.Position] = s
	}
	return nil
}

func seekEnd(f *os.File) error {
	_, err := f.Seek(0, 2)
	return err
}

// get returns what a search of that many nodes finds and how many of them it needs, false where the
// record does not tell.
func (r *record) get(p amazons.Position, limit uint64) (eval.Verdict, uint64, bool) {
	if r == nil {
		return eval.Open, 0, false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	s, ok := r.found[p.String()]
	switch v := verdicts[s.Verdict]; {
	case !ok:
		return eval.Open, 0, false
	case v != eval.Open && s.Nodes <= limit:
		return v, s.Nodes, true
	case s.Nodes >= limit:
		return eval.Open, limit, true
	}
	return eval.Open, 0, false
}

// add keeps a search that was ended by its answer or by its budget.
func (r *record) add(p amazons.Position, v eval.Verdict, nodes uint64) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.write(searched{p.String(), v.String(), nodes})
}

func (r *record) write(line any) error {
	text, err := json.Marshal(line)
	if err != nil {
		return err
	}
	_, err = r.file.Write(append(text, '\n'))
	return err
}

// Close closes the file.
func (r *record) Close() error {
	if r == nil {
		return nil
	}
	return r.file.Close()
}

// head returns what the searches of s on a board depend on.
func (s settings) head(ctx context.Context, b amazons.Board) (recordHead, error) {
	measure := amazons.Board{Width: 5, Height: 5}
	start, err := amazons.Start(measure)
	if err != nil {
		return recordHead{}, err
	}
	seat, err := newSeat(measure, s.judge(), s)
	if err != nil {
		return recordHead{}, err
	}
	nodes := seat.search.Search(ctx, start.State(), 0).Nodes
	return recordHead{b.String(), s.tableBytes, s.databases[len(s.databases)-1].Config().Name(), nodes},
		errors.Join(ctx.Err(), seat.table.Close())
}
