package store

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"amazonsfarm/master/hints"
	"amazonsfarm/master/tree"
)

var (
	powerStates = flag.Int("power-states", 200, "crashes that the tests of this package make of a recording, "+
		"spread over it; 0: all of them")
	powerSeed    = flag.Uint64("power-seed", 1, "for what of the writes of a recording is lost in a crash")
	powerCommand = flag.String("power-command", "",
		"a command that works on the store \"store\" in the folder in which it is started, to record instead of "+
			"one of our own")
)

func init() {
	// writes does all that is ever done to the file of a store, which gets three campaigns, and
	// says what was acknowledged.
	children["writes"] = func(path string) {
		next := uint64(0)
		certificate := func(s *Store, campaign uint32, i uint64, size int) {
			p, id := payloadOf(i, size)
			must(put(s, campaign, p, id))
			fmt.Println("certificate", i, size)
		}
		// commit commits batches, each to all campaigns that there are.
		commit := func(s *Store, times int) {
			for range times {
				var batches []tree.Persist
				var list []hints.Hint
				for _, about := range killCampaigns[:len(s.Campaigns())] {
					b := killBatch(about, uint64(about.Number-1), next)
					b.Spent = next
					if next%3 == 0 {
						list = append(list, hints.Hint{
							Place: hints.Place{Campaign: about.Number, Key: keyOn(about.ParsedBoard(), next<<30+5)},
							Data:  bytes.Repeat([]byte{byte(next)}, 3000)})
					}
					batches = append(batches, b)
				}
				must(s.Commit(batches, list))
				fmt.Println("batch", next, len(batches))
				next++
			}
		}
		s, err := Create(path, testCampaign, quick)
		must(err)
		fmt.Println("created")
		certificate(s, 1, 0, 100)
		commit(s, 8)
		certificate(s, 1, 1, 150_000)
		for _, c := range killCampaigns[1:] {
			c, err := s.AddCampaign(c)
			must(err)
			fmt.Println("campaign", c.Number, c.Name)
			p, id := killEvidence(c)
			must(put(s, c.Number, p, id))
			commit(s, 2)
		}
		must(unfinished(s, 77))
		commit(s, 2)
		certificate(s, 3, 2, 300_000)
		commit(s, 3)
		priority := 7
		_, err = s.ChangeCampaign(2, Change{Priority: &priority})
		must(err)
		fmt.Println("priority", priority)
		must(s.Close())
		s, err = Open(path, quick) // removes what is unfinished
		must(err)
		commit(s, 3)
		for _, campaign := range []uint32{1, 3} {
			must(s.SetResult(campaign, Result{Verdict: "won", Winner: "white"}))
			fmt.Println("result", campaign)
		}
		must(s.Close())
		_, err = BackupFile(context.Background(), path, path+".backup", true, nil)
		must(err)
		fmt.Println("copied " + storeName + ".backup")
		_, err = Compact(context.Background(), path, "", false, nil)
		must(err)
		fmt.Println("copied " + storeName + OldSuffix)
		s, err = Open(path, quick)
		must(err)
		commit(s, 3)
		must(s.Close())
		_, err = Compact(context.Background(), path, path+".compact", false, nil)
		must(err)
		fmt.Println("copied " + storeName + ".compact")
		_, err = Compact(context.Background(), path, "", true, nil)
		must(err)
		s, err = Open(path, quick)
		must(err)
		commit(s, 2)
		must(s.Close())
	}
}

// recordWrites records the child above, or the command that was given.
func recordWrites(t *testing.T) []op {
	t.Helper()
	folder := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childEnv+"=writes", childEnv+"_PATH="+filepath.Join(folder, storeName))
	if *powerCommand != "" {
		c = exec.Command("bash", "-c", "exec "+*powerCommand)
		c.Dir = folder
	}
	return recordOps(t, c, folder)
}

// crashAll makes crashes of a recording, about so many operations of which are looked at, 0: all,
// and returns who has seen them.
func crashAll(t *testing.T, ops []op, states int) *witness {
	t.Helper()
	w := &witness{t: t, folder: t.TempDir(), random: rand.New(rand.NewPCG(*powerSeed, 1)), verified: map[digest]int{},
		opened: map[[32]byte]bool{}}
	for i, o := range ops {
		if o.kind == opSaid && *powerCommand == "" {
			w.said, w.saidAt = append(w.said, o.text), append(w.saidAt, i+1)
		}
	}
	// What is durable when has to be known before a crash is judged: a crash may leave the state
	// after the next sync.
	crashes(ops, w.random, func(int) bool { return false }, w.durable, func(crash) {})
	step := 1
	if states > 0 {
		step = max(1, 8*len(ops)/states)
	}
	phase := w.random.IntN(step)
	wanted := func(at int) bool {
		return w.err == nil && ((at+phase)%step == 0 || headerWrite(ops[at]) && w.random.IntN(step) < 2)
	}
	crashes(ops, w.random, wanted, func(int, *folder) {}, w.judge)
	return w
}

// TestPowerCut records every write and sync of a process that creates, fills, opens, backs up and
// compacts a store, and makes of the recording what may be found after a crash at each point: the
// process killed, also in the middle of a write; the power cut, with any part of what was not
// synced. Each time the store opens, checks out, is as it was after the last commit that was
// durable or the one after that, and has what was acknowledged before. With -power-states 0 all
// points are tried; -power-command has another process recorded, such as a whole campaign.
func TestPowerCut(t *testing.T) {
	ops := recordWrites(t)
	states := *powerStates
	if testing.Short() {
		states /= 4
	}
	w := crashAll(t, ops, states)
	if w.err != nil {
		t.Fatal(w.err)
	}
	count := map[opKind]int{}
	for _, o := range ops {
		count[o.kind]++
	}
	if len(w.states) < 10 || *powerStates == 0 && w.refused == 0 {
		t.Errorf("%d durable states, %d torn headers", len(w.states), w.refused)
	}
	t.Logf("%d writes and %d syncs in %d operations; %d states that were durable; %d crashes, of which %d tore a "+
		"header and were refused until told to take the older one",
		count[opWrite], count[opSync], len(ops), len(w.states), w.crashes, w.refused)
}

// TestPowerCutIsNoticed falsifies a recording: a program that did less would be found out.
func TestPowerCutIsNoticed(t *testing.T) {
	if testing.Short() {
		t.Skip("one goroutine: nothing for the race detector to find")
	}
	if *powerCommand != "" {
		t.Skip("about our own command")
	}
	ops := recordWrites(t)
	for name, falsify := range map[string]func(at int, o op) []op{
		"pages are not synced before the header that names them": func(at int, o op) []op {
			return keep(o, o.kind != opSync || at+1 == len(ops) || !headerWrite(ops[at+1]))
		},
		"a commit is acknowledged before it is durable": func(at int, o op) []op {
			if headerWrite(o) && at+2 < len(ops) && ops[at+2].kind == opSaid &&
				strings.HasPrefix(ops[at+2].text, "batch") {
				return []op{ops[at+2], o}
			}
			return keep(o, at < 2 || o.kind != opSaid || !headerWrite(ops[at-2]))
		},
		"the folder of a part is not synced": func(_ int, o op) []op {
			return keep(o, o.kind != opSync || o.file != 0 || o.name == ".")
		},
		"a part gets its name before it is synced": func(at int, o op) []op {
			return keep(o, o.kind != opSync || at+1 == len(ops) || ops[at+1].kind != opRename ||
				!strings.Contains(ops[at+1].name, ".evidence"))
		},
		"the folder is not synced": func(_ int, o op) []op { return keep(o, o.kind != opSync || o.file != 0) },
		"a copy gets its name before it is synced": func(at int, o op) []op {
			return keep(o, o.kind != opSync || at+1 == len(ops) || ops[at+1].kind != opLink &&
				ops[at+1].kind != opRename)
		},
	} {
		var list []op
		covers := make([]int, len(ops)+1) // where each operation has gone
		for at, o := range ops {
			covers[at] = len(list)
			if o.kind == opSync {
				o.covers = covers[o.covers]
			}
			list = append(list, falsify(at, o)...)
		}
		if w := crashAll(t, list, 400); w.err == nil {
			t.Errorf("%s, and nobody noticed in %d crashes", name, w.crashes)
		} else {
			t.Logf("%s: %v", name, w.err)
		}
	}
}
