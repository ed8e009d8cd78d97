package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"amazonsfarm/scripts/lab/farm"
)

// damagedStores is how many damaged stores are tried.
const damagedStores = 350

// storePage is the size of the pages of a store, in bytes.
const storePage = 4096

// damage is one way to damage the file of a store.
type damage struct {
	name string
	do   func(r *rand.Rand, data []byte) []byte
}

var damages = []damage{
	{"a bit", func(r *rand.Rand, data []byte) []byte {
		data[r.IntN(len(data))] ^= 1 << r.IntN(8)
		return data
	}},
	{"sixteen bytes", func(r *rand.Rand, data []byte) []byte {
		at := r.IntN(len(data) - 16)
		binary.LittleEndian.PutUint64(data[at:], r.Uint64())
		binary.LittleEndian.PutUint64(data[at+8:], r.Uint64())
		return data
	}},
	{"a page of zeros", func(r *rand.Rand, data []byte) []byte {
		clear(data[r.IntN(len(data)/storePage)*storePage:][:storePage])
		return data
	}},
	{"two pages swapped", func(r *rand.Rand, data []byte) []byte {
		a, b := r.IntN(len(data)/storePage)*storePage, r.IntN(len(data)/storePage)*storePage
		page := bytes.Clone(data[a : a+storePage])
		copy(data[a:], data[b:b+storePage])
		copy(data[b:], page)
		return data
	}},
	{"cut short", func(r *rand.Rand, data []byte) []byte { return data[:r.IntN(len(data))] }},
}

// damaged gives damaged stores to "master store check" and to "master serve": what the one refuses, the
// other must not start on, and neither may crash.
func (s *settings) damaged(ctx context.Context) error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	good := filepath.Join(s.folder, "good.db")
	solve := exec.CommandContext(ctx, s.master, "solve", s.board, "--store", good, "--nodes", "50000")
	out, err := solve.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 3) { // it stopped at its limit, as it should
		return fmt.Errorf("solve: %w: %s", err, out)
	}
	data, err := os.ReadFile(good)
	if err != nil {
		return err
	}
	fmt.Printf("%d bytes\n\n| damage | stores | refused by both | taken by both | started, and ended by itself |\n"+
		"| --- | --- | --- | --- | --- |\n", len(data))
	r := rand.New(rand.NewPCG(s.seed, 11))
	counts := make([][4]int, len(damages))
	var failed failures
	for n := range damagedStores {
		if ctx.Err() != nil {
			break
		}
		i := n % len(damages)
		name := filepath.Join(s.folder, "bad.db")
		if err := os.WriteFile(name, damages[i].do(r, bytes.Clone(data)), 0o600); err != nil {
			return err
		}
		said, err := exec.CommandContext(ctx, s.master, "store", "check", name).CombinedOutput()
		refused := err != nil
		started, code, text, err := s.startsOn(ctx, name)
		for err == nil && strings.Contains(text, "another program listens") { // others look for addresses as well
			started, code, text, err = s.startsOn(ctx, name)
		}
		if err != nil {
			return err
		}
		counts[i][0]++
		switch {
		case bytes.Contains(said, []byte("goroutine ")) || strings.Contains(text, "goroutine "):
			failed = append(failed, fmt.Sprintf("store %d (%s): a crash: %s%s", n, damages[i].name, said, text))
		case refused && !started:
			counts[i][1]++
		case refused && started && code > 0:
			counts[i][3]++
		case refused:
			failed = append(failed, fmt.Sprintf("store %d (%s): serve goes on where store check says %s",
				n, damages[i].name, said))
		case started:
			counts[i][2]++
		default:
			failed = append(failed, fmt.Sprintf("store %d (%s): only serve refuses it: %s", n, damages[i].name, text))
		}
	}
	for i, d := range damages {
		fmt.Printf("| %s | %d | %d | %d | %d |\n", d.name, counts[i][0], counts[i][1], counts[i][2], counts[i][3])
	}
	return failed.err()
}

// startsOn reports whether a master begins to serve on a store. code is its exit code, 0 while it went on.
func (s *settings) startsOn(ctx context.Context, store string) (started bool, code int, text string, err error) {
	var log bytes.Buffer
	pages, err := farm.FreeAddress()
	if err != nil {
		return false, 0, "", err
	}
	p, err := farm.Start("master", &log, s.master, "serve", "--store", store, "--listen", "127.0.0.1:0",
		"--http", pages, "--stay")
	if err != nil {
		return false, 0, "", err
	}
	for p.Alive() && farm.Wait(ctx, 10*time.Millisecond) == nil {
		if _, err := healthy(pages); err == nil {
			started = true
			p.EndsWithin(100 * time.Millisecond) // it may end soon
			break
		}
	}
	if p.Alive() {
		p.Kill()
		return started, 0, "", ctx.Err()
	}
	return started, p.Cmd.ProcessState.ExitCode(), log.String(), nil
}
