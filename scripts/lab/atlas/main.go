// Command atlas makes the rows of the atlas of small boards. scripts/atlas runs it.
//
//	atlas row WORKER NODES EACH TABLE NAME POSITION    who wins after each first move, as one line of JSON
//	atlas numbers NODES TABLE NAME POSITION       how the numbers of an open root go, as one line of JSON
//	atlas page FILE...                            rows and numbers, a line each, as tables of Markdown
//
// A row asks "worker solve -", the program as users have it, about the root and about the position
// after each first move, one of each set of mirror images. So each certificate has been accepted by the
// checker, and one core makes the same one again.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"

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
	err := errors.New("give row, numbers or page")
	if args := os.Args[1:]; len(args) > 1 {
		switch {
		case args[0] == "row" && len(args) == 7:
			err = row(args[1], args[2], args[3], args[4], args[5], args[6])
		case args[0] == "numbers" && len(args) == 5:
			err = numbers(args[1], args[2], args[3], args[4])
		case args[0] == "page":
			err = page(os.Stdout, args[1:])
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
	answers, err := ask(worker, limit, table, lines[:1])
	if err != nil {
		return err
	}
	rest, err := ask(worker, each, table, lines[1:])
	if err != nil {
		return err
	}
	answers = append(answers, rest...)
	r := Row{Name: name, Position: p.String(), NodeLimit: nodes, Wins: []string{},
		Command: fmt.Sprintf("worker solve %q --cores 1 --table %s", p, table)}
	for i, line := range answers {
		var got cli.SolveResult
		if err := json.Unmarshal([]byte(line), &got); err != nil {
			return err
		}
		a := Answer{Nodes: got.Nodes, Outcome: "open"}
		if c := got.Certificate; got.Verified && c != nil {
			a.SHA256, a.Entries, a.Bytes = c.SHA256, c.Positions, c.Bytes
			a.Outcome = "loses"
			if got.Winner == cli.WinnerName(p, true) || got.Winner == p.ToMove.String() {
				a.Outcome = "wins"
			}
		}
		if a.Outcome == "open" && r.Winner == "second" {
			a.Outcome = "loses" // the root's certificate refutes every first move
		}
		r.Nodes += a.Nodes
		if i == 0 {
			r.Root = a
			if a.Outcome != "open" {
				r.Winner = map[string]string{"wins": "first", "loses": "second"}[a.Outcome]
			}
			continue
		}
		a.Move = moves[i-1].String()
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

// ask has the worker solve positions with so many nodes each, and returns a line of JSON for each.
func ask(worker, nodes, table string, lines []string) ([]string, error) {
	asked := exec.Command(worker, "solve", "-", "--cores", "1", "--table", table, "--nodes", nodes)
	asked.Stdin, asked.Stderr = strings.NewReader(strings.Join(lines, "\n")+"\n"), os.Stderr
	out, err := asked.Output() // an exit code of 1 or 3 says that some were left open
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != len(lines) {
		return nil, fmt.Errorf("%d answers to %d questions", len(answers), len(lines))
	}
	return answers, nil
}

// numbers searches a root with doubling limits, until it is solved or the nodes are used up.
func numbers(limit, size, name, text string) error {
	p, err := amazons.ParsePosition(text)
	if err != nil {
		return err
	}
	most, err := strconv.ParseUint(limit, 10, 64)
	if err != nil {
		return err
	}
	var bytes cli.TableSize
	if err := bytes.Set(size); err != nil {
		return err
	}
	table, err := dfpn.NewTable(bytes.Bytes)
	if err != nil {
		return err
	}
	defer table.Close()
	search, err := dfpn.New(dfpn.Options{Board: p.Board, Table: table})
	if err != nil {
		return err
	}
	n := Numbers{Name: name, Position: p.String(), Outcome: "open",
		Command: fmt.Sprintf("scripts/atlas numbers %s %s %q", limit, name, p)}
	for at := uint64(10_000); at <= most; at *= 2 {
		r := search.Search(context.Background(), p.State(), at-search.Nodes())
		n.Points = append(n.Points, Point{search.Nodes(), r.Phi, r.Delta})
		if r.Verdict != eval.Open {
			n.Outcome = map[eval.Verdict]string{eval.Won: "first", eval.Lost: "second"}[r.Verdict]
			break
		}
	}
	return json.NewEncoder(os.Stdout).Encode(n)
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
		winner := r.Winner
		if winner == "" {
			winner = "**open**"
		}
		sum := ""
		if r.Root.SHA256 != "" {
			sum = "`" + r.Root.SHA256 + "`"
		}
		fmt.Fprintf(w, "| %s | %s | %d, %d, %d | %s | %d | %d | %d | %s | `%s` |\n", r.Name, winner, len(r.Wins),
			r.Loses, len(r.Open), wins, r.Root.Nodes, r.Root.Entries, r.Root.Bytes, sum, r.Position)
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
