// Command hostile attacks real masters with clients that do what no sound worker does, each kind beside
// one honest worker or more. Each campaign has to end with the known, verified answer, at nearly the
// speed that it has without them. scripts/hostile builds the programs and calls it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "hostile: %v\n", err)
		os.Exit(1)
	}
}

// settings are those of all runs.
type settings struct {
	master, worker string
	folder         string
	board          string
	seed           uint64
	honest         int
	clients        int
	minutes        float64
	limit          time.Duration
	files          uint64 // of the master; 0: as many as this process may have
	mtls           bool
	verbose        bool
	kills          int         // of a bout
	due            func() bool // whether the master is to be killed now; nil: never
}

func run(ctx context.Context, args []string) error {
	s := settings{}
	flags := flag.NewFlagSet("hostile", flag.ContinueOnError)
	flags.StringVar(&s.master, "master", "", "program of the master")
	flags.StringVar(&s.worker, "worker", "", "program of the worker")
	flags.StringVar(&s.folder, "folder", "", "folder for stores and logs")
	flags.StringVar(&s.board, "board", "4x7", "board of the campaigns")
	flags.Uint64Var(&s.seed, "seed", 1, "of what is drawn")
	flags.IntVar(&s.honest, "honest", 1, "honest workers, each on one core")
	flags.IntVar(&s.clients, "clients", 1, "hostile clients at a time")
	flags.Float64Var(&s.minutes, "minutes", 10, "of a bout, at least")
	flags.DurationVar(&s.limit, "limit", 4*time.Minute, "of one campaign")
	flags.Uint64Var(&s.files, "files", 300, "file descriptors that the master may have")
	flags.IntVar(&s.kills, "kills", 10, "times that the master is killed in a bout; of each phase, in kills")
	flags.BoolVar(&s.mtls, "mtls", false, "with credentials")
	flags.BoolVar(&s.verbose, "v", false, "say why hostile clients were sent away")
	list := flags.Bool("list", false, "name the kinds and end")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *list {
		for _, k := range kinds {
			fmt.Printf("%-14s %s\n", k.name, k.what)
		}
		return nil
	}
	if flags.NArg() == 0 || s.honest < 1 || s.clients < 1 || s.clients > 256 {
		return errors.New("name kinds of clients, or all, or bout; --honest and --clients are at least 1")
	}
	names := flags.Args()
	play := map[string]func(context.Context) error{"bout": s.bout, "rpcs": s.rpcs, "bucket": s.bucket,
		"damaged": s.damaged, "machine": s.machine,
		"kills": func(ctx context.Context) error { return s.phases(ctx, names[1:]) }}[names[0]]
	switch {
	case play != nil:
		return play(ctx)
	case names[0] == "all":
		names = nil
		for _, k := range kinds {
			names = append(names, k.name)
		}
	}
	alone, err := s.play(ctx, "alone", nil)
	if err != nil {
		return err
	}
	var table rows
	table.add(alone)
	for _, name := range names {
		k, err := find(name)
		if err != nil {
			return err
		}
		r, err := s.play(ctx, name, []kind{k})
		if err != nil {
			return err
		}
		table.add(r)
	}
	return table.err()
}
