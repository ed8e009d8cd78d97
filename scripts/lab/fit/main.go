// Command fit makes the table of package estimate from recorded searches, and compares initial
// numbers. It is a tool of development:
//
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

var errUsage = errors.New("usage: fit record|table|compare ARGUMENT... (see the comment of the package)")

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
			if _, ok := forms[name]; !ok {
				return fmt.Errorf("%w: %q is no form of first numbers: constant, mobility, territory and fitted are",
					errUsage, name)
			}
		}
		return compare(ctx, positions, args[2:], most, compareTable, w)
	}
	return errUsage
}
