// Command fit makes the table of package estimate from recorded searches, and compares initial
// numbers. It is a tool of development:
//
//	fit suite BOARD,... NUMBER SEED MOVES MOVES NODES NODES > suite.tsv   NUMBER positions of each board, from random games: least and most moves played and nodes to solve
//	fit record suite.tsv > recording.tsv.gz      replies in their searches, each solved
//	fit table recording.tsv.gz > table.go        the table fitted to them
//	fit compare NODES SUITE|POSITION,... FORM...   nodes with each form of first numbers, up to NODES for a position
//
// The same input gives the same bytes (compare: the same nodes).
package main

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
)

// compareTable is the size in bytes of each of the two tables of compare.
const compareTable = 512 << 20

var errUsage = errors.New("usage: fit suite|record|table|compare ARGUMENT... (see the comment of the package)")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "fit:", err)
		if errors.Is(err, errUsage) {
			os.Exit(64)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, w io.Writer) error {
	if len(args) < 2 {
		return errUsage
	}
	switch command, args := args[0], args[1:]; {
	case command == "suite" && len(args) == 7:
		var n [6]uint64
		for i := range n {
			var err error
			if n[i], err = strconv.ParseUint(args[1+i], 10, 32); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
		}
		if n[2] < 1 || n[3] < n[2] {
			return fmt.Errorf("%w: the moves to play are from %d to %d", errUsage, n[2], n[3])
		}
		return suite(ctx, strings.Split(args[0], ","), int(n[0]), n[1], [2]int{int(n[2]), int(n[3])}, n[4], n[5], w)
	case command == "record" && len(args) == 1:
		positions, err := readSuite(args[0])
		if err != nil {
			return err
		}
		packed := gzip.NewWriter(w)
		if err := record(ctx, positions, packed); err != nil {
			return err
		}
		return packed.Close()
	case command == "table" && len(args) == 1:
		rows, err := readRecording(args[0])
		if err != nil {
			return err
		}
		file, err := tableFile(rows)
		if err != nil {
			return err
		}
		_, err = w.Write(file)
		return err
	case command == "compare" && len(args) >= 3:
		most, err := strconv.ParseUint(args[0], 10, 64)
		if err != nil || most == 0 {
			return fmt.Errorf("%w: %q is no number of nodes", errUsage, args[0])
		}
		positions, err := positionsOf(strings.Split(args[1], ","))
		if err != nil {
			return err
		}
		for _, name := range args[2:] {
			if _, err := parseForm(name); err != nil {
				return fmt.Errorf("%w: %w", errUsage, err)
			}
		}
		return compare(ctx, positions, args[2:], most, compareTable, w)
	}
	return errUsage
}
