// Command atlas makes the rows of the atlas of small boards. scripts/atlas runs it.
//
//	atlas row WORKER NODES EACH TABLE NAME POSITION    who wins after each first move, as one line of JSON
//	atlas numbers NODES TABLE NAME POSITION       how the numbers of an open root go, as one line of JSON
//	atlas page FILE...                            rows and numbers, a line each, as tables of Markdown
//	atlas repeat WORKER TABLE MOVES SEED FILE [NAME...]    makes rows of an atlas again and compares them
//
// A row asks "worker solve -", the program as users have it, about the root and about the position
// after each first move, one of each set of mirror images. So each certificate has been accepted by the
// checker, and one core makes the same one again.
package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/dfpn"
	"amazonsfarm/shared/eval"
)

// Row is one question with all its first moves.
type Row struct {
	Name      string   `json:"name"`
	Position  string   `json:"position"`
	Winner    string   `json:"winner,omitempty"` // empty: open
	Wins      []string `json:"wins"`             // first moves, one of each set of mirror images
	Loses     int      `json:"loses"`
	Open      []string `json:"open,omitempty"`
	Nodes     uint64   `json:"nodes"` // of the root and of all first moves
	Root      Answer   `json:"root"`
	Moves     []Answer `json:"moves"`
	NodeLimit uint64   `json:"node_limit"` // of each first move
	Command   string   `json:"command"`    // repeats the root
}

// Answer is what one search found.
type Answer struct {
	Move    string `json:"move,omitempty"`
	Outcome string `json:"outcome"` // wins, loses or open, for the side that plays the move, or moves at the root
	Nodes   uint64 `json:"nodes"`
	SHA256  string `json:"sha256,omitempty"` // of the certificate of the position after the move
	Entries uint64 `json:"positions,omitempty"`
	Bytes   int64  `json:"bytes,omitempty"`
}

// Numbers is how the root of an open question went.
type Numbers struct {
	Name     string  `json:"name"`
	Position string  `json:"position"`
	Outcome  string  `json:"outcome"`
	Points   []Point `json:"numbers"`
	Command  string  `json:"command"`
}

// Point is the numbers of a root after so many nodes of one thread.
type Point struct {
	Nodes    uint64 `json:"nodes"`
	Proof    uint32 `json:"proof_number"`
	Disproof uint32 `json:"disproof_number"`
}

func main() {
	err := errors.New("give row, numbers, page or repeat")
	if args := os.Args[1:]; len(args) > 1 {
		switch {
		case args[0] == "row" && len(args) == 7:
			err = row(args[1], args[2], args[3], args[4], args[5], args[6])
		case args[0] == "numbers" && len(args) == 5:
			err = numbers(args[1], args[2], args[3], args[4])
		case args[0] == "page":
			err = page(os.Stdout, args[1:])
		case args[0] == "repeat" && len(args) > 5:
			err = repeat(args[1], args[2], args[3], args[4], args[5], args[6:])
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "atlas:", err)
		os.Exit(1)
	}
}

// row asks about a root and its first moves.
func row(worker, limit, each, table, name, text string) error {
	p, err := amazons.ParsePosition(text)
	if err != nil {
		return err
	}
	nodes, err := strconv.ParseUint(each, 10, 64)
	if err != nil {
		return err
	}
	var moves []amazons.Move
	lines := []string{p.String()}
	seen := map[amazons.Key]bool{}
	for _, m := range p.State().Moves(nil) {
		if k := p.State().After(m).CanonicalKey(p.Board); !seen[k] {
			seen[k] = true
			moves, lines = append(moves, m), append(lines, p.After(m).String())
		}
	}
	answers, err := ask(worker, limit, table, p, lines[:1])
	if err != nil {
		return err
	}
	rest, err := ask(worker, each, table, p, lines[1:])
	if err != nil {
		return err
	}
	answers = append(answers, rest...)
	r := Row{Name: name, Position: p.String(), NodeLimit: nodes, Wins: []string{},
		Command: fmt.Sprintf("worker solve %q --cores 1 --table %s", p, table)}
	for i, a := range answers {
		r.Nodes += a.Nodes
		if i == 0 {
			r.Root = a
			if a.Outcome != "open" {
				r.Winner = map[string]string{"wins": "first", "loses": "second"}[a.Outcome]
			}
			continue
		}
		m := moves[i-1]
		if a.Outcome == "open" && r.Winner == "second" {
			a.Outcome = "loses" // the root's certificate refutes every first move
		} else if a.Outcome == "open" && r.Root.Move != "" && sameMove(p, m, r.Root.Move) {
			a.Outcome = "wins" // it is the move of the root's certificate
		}
		a.Move = m.String()
		r.Moves = append(r.Moves, a)
		switch a.Outcome {
		case "wins":
			r.Wins = append(r.Wins, a.Move)
		case "loses":
			r.Loses++
		default:
			r.Open = append(r.Open, a.Move)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// sameMove reports whether a move of p and the move of a text come to the same position, or to mirror images.
func sameMove(p amazons.Position, m amazons.Move, text string) bool {
	other, err := p.ParseMove(text)
	return err == nil && p.State().After(m).CanonicalKey(p.Board) == p.State().After(other).CanonicalKey(p.Board)
}

// ask has the worker solve positions with so many nodes each. It returns an answer for each: whether the
// side that moves first in p wins, and the move with which it does where the position is p itself.
func ask(worker, nodes, table string, p amazons.Position, lines []string) ([]Answer, error) {
	asked := exec.Command(worker, "solve", "-", "--cores", "1", "--table", table, "--nodes", nodes)
	asked.Stdin, asked.Stderr = strings.NewReader(strings.Join(lines, "\n")+"\n"), os.Stderr
	out, err := asked.Output() // an exit code of 1 or 3 says that some were left open
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	texts := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(texts) != len(lines) {
		return nil, fmt.Errorf("%d answers to %d questions", len(texts), len(lines))
	}
	answers := make([]Answer, len(texts))
	for i, text := range texts {
		var got cli.SolveResult
		if err := json.Unmarshal([]byte(text), &got); err != nil {
			return nil, err
		}
		a := Answer{Nodes: got.Nodes, Outcome: "open"}
		if c := got.Certificate; got.Verified && c != nil {
			a.SHA256, a.Entries, a.Bytes = c.SHA256, c.Positions, c.Bytes
			a.Outcome = "loses"
			if got.Winner == cli.WinnerName(p, eval.Won) || got.Winner == p.ToMove.String() {
				a.Outcome = "wins"
				if lines[i] == p.String() && len(got.WinningMoves) > 0 {
					a.Move = got.WinningMoves[0]
				}
			}
		}
		answers[i] = a
	}
	return answers, nil
}

// solvable is the limit of nodes of a root that is known to be solved with less.
const solvable = "1000000000"

// repeat makes rows of an atlas again, all or those with the given names: the root, and so many first moves
// of each, chosen by a seed. Of an open board it makes the numbers of the first nodes again. Each has to
// come out the same: outcome, nodes and certificate.
func repeat(worker, table, moves, seed, file string, names []string) error {
	var most, chosen, differ int
	if _, err := fmt.Sscan(moves+" "+seed, &most, &chosen); err != nil {
		return fmt.Errorf("first moves %q and seed %q: %w", moves, seed, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	type entry struct {
		Row
		Points []Point `json:"numbers"`
	}
	var rows []entry
	if err := json.Unmarshal(data, &rows); err != nil {
		return err
	}
	rows = slices.DeleteFunc(rows, func(r entry) bool { return len(names) > 0 && !slices.Contains(names, r.Name) })
	if len(rows) < len(names) {
		return fmt.Errorf("%s has no row for each of %q", file, names)
	}
	for _, r := range rows {
		begin := time.Now()
		said, wrong := "", []string(nil)
		if len(r.Points) > 0 {
			wrong, err = repeatNumbers(r.Name, r.Position, r.Points)
			said = fmt.Sprintf("numbers up to %d nodes", repeatedNodes)
		} else {
			said, wrong, err = repeatRow(worker, table, most, rand.New(rand.NewPCG(uint64(chosen), 0)), r.Row)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", r.Name, err)
		}
		verdict := "the same"
		if len(wrong) > 0 {
			verdict, differ = "NOT THE SAME: "+strings.Join(wrong, "; "), differ+1
		}
		fmt.Printf("%s: %s: %s (%.1f s)\n", r.Name, said, verdict, time.Since(begin).Seconds())
	}
	if differ > 0 {
		return fmt.Errorf("%d rows do not come out the same", differ)
	}
	return nil
}

// repeatRow makes a root and some of its first moves again. It says what it made and what differs.
func repeatRow(worker, table string, most int, random *rand.Rand, r Row) (said string, wrong []string, err error) {
	p, err := amazons.ParsePosition(r.Position)
	if err != nil {
		return "", nil, err
	}
	limit := solvable
	if r.Winner == "" {
		limit = strconv.FormatUint(r.Root.Nodes, 10)
	}
	got, err := ask(worker, limit, table, p, []string{p.String()})
	if err != nil {
		return "", nil, err
	}
	known := []Answer{r.Root}
	var lines []string
	for _, i := range random.Perm(len(r.Moves))[:min(most, len(r.Moves))] {
		m, err := p.ParseMove(r.Moves[i].Move)
		if err != nil {
			return "", nil, err
		}
		known, lines = append(known, r.Moves[i]), append(lines, p.After(m).String())
	}
	if len(lines) > 0 {
		rest, err := ask(worker, strconv.FormatUint(r.NodeLimit, 10), table, p, lines)
		if err != nil {
			return "", nil, err
		}
		got = append(got, rest...)
	}
	for i, g := range got {
		k := known[i]
		g.Move = k.Move
		if k.SHA256 == "" {
			k.Outcome = "open" // by itself; that of the root may decide it
		}
		if g != k {
			wrong = append(wrong, fmt.Sprintf("%+v in place of %+v", g, k))
		}
	}
	return fmt.Sprintf("the root and %d of %d first moves", len(lines), len(r.Moves)), wrong, nil
}

// repeatedNodes bounds what is searched again for the numbers of an open board: a few seconds.
const repeatedNodes = 160_000

// repeatNumbers makes the first numbers of an open board again, and says what differs.
func repeatNumbers(name, position string, points []Point) (wrong []string, err error) {
	n, err := search(repeatedNodes, "2GiB", name, position)
	if err != nil {
		return nil, err
	}
	for i, p := range n.Points {
		if i >= len(points) || p != points[i] {
			wrong = append(wrong, fmt.Sprintf("%+v", p))
		}
	}
	return wrong, nil
}

// numbers searches a root with doubling limits, until it is solved or the nodes are used up.
func numbers(limit, size, name, text string) error {
	most, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return err
	}
	n, err := search(most, size, name, text)
	if err == nil {
		err = json.NewEncoder(os.Stdout).Encode(n)
	}
	return err
}

// search returns what numbers prints: the proof numbers of a root after each doubling of the nodes.
func search(most uint64, size, name, text string) (Numbers, error) {
	p, err := amazons.ParsePosition(text)
	if err != nil {
		return Numbers{}, err
	}
	var bytes cli.TableSize
	if err := bytes.Set(size); err != nil {
		return Numbers{}, err
	}
	table, err := dfpn.NewTable(bytes.Bytes)
	if err != nil {
		return Numbers{}, err
	}
	defer table.Close()
	search := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	n := Numbers{Name: name, Position: p.String(), Outcome: "open",
		Command: fmt.Sprintf("scripts/atlas numbers %d %s %q", most, name, p)}
	for at := uint64(10_000); at <= most; at *= 2 {
		r := search.Search(context.Background(), p.State(), at-search.Nodes())
		n.Points = append(n.Points, Point{search.Nodes(), r.Phi, r.Delta})
		if r.Verdict != eval.Open {
			n.Outcome = map[eval.Verdict]string{eval.Won: "first", eval.Lost: "second"}[r.Verdict]
			break
		}
	}
	return n, nil
}

// page writes what files hold as tables.
func page(w io.Writer, files []string) error {
	var rows []Row
	var open []Numbers
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		lines := bufio.NewScanner(f)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var r Row
			var n Numbers
			if err := errors.Join(json.Unmarshal(lines.Bytes(), &r), json.Unmarshal(lines.Bytes(), &n)); err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if len(n.Points) > 0 {
				open = append(open, n)
			} else {
				rows = append(rows, r)
			}
		}
		if err := errors.Join(lines.Err(), f.Close()); err != nil {
			return err
		}
	}
	fmt.Fprintln(w, "| question | winner | first moves: win, lose, open | winning first moves | nodes of the root | "+
		"positions | bytes | certificate's SHA-256 | position |")
	fmt.Fprintln(w, "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
	for _, r := range rows {
		wins := strings.Join(r.Wins[:min(len(r.Wins), shown)], " ")
		if len(r.Wins) > shown {
			wins += fmt.Sprintf(" and %d more", len(r.Wins)-shown)
		}
		sum := ""
		if r.Root.SHA256 != "" {
			sum = "`" + r.Root.SHA256 + "`"
		}
		fmt.Fprintf(w, "| %s | %s | %d, %d, %d | %s | %d | %d | %d | %s | `%s` |\n", r.Name,
			cmp.Or(r.Winner, "**open**"), len(r.Wins), r.Loses, len(r.Open), wins, r.Root.Nodes, r.Root.Entries,
			r.Root.Bytes, sum, r.Position)
	}
	for _, n := range open {
		fmt.Fprintf(w, "\n## %s\n\n`%s`, %s:\n\n    %s\n\n"+
			"| nodes | proof number | disproof number |\n| --- | --- | --- |\n",
			n.Name, n.Position, n.Outcome, n.Command)
		for _, p := range slices.Backward(n.Points) {
			fmt.Fprintf(w, "| %d | %d | %d |\n", p.Nodes, p.Proof, p.Disproof)
		}
	}
	return nil
}

// shown is how many winning moves the table names; the JSON has all.
const shown = 6
