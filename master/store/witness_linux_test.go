package store

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.etcd.io/bbolt"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
)

// digest is of all records of a store.
type digest [32]byte

// witness opens what crashes leave.
type witness struct {
	t        *testing.T
	folder   string
	random   *rand.Rand
	states   []digest       // that were durable, in their order
	from     []int          // operations after which they were
	said     []string       // by the recorded process
	saidAt   []int          // operations before that
	verified map[digest]int // lines of said that a state stands up to
	opened   map[[32]byte]bool
	crashes  int
	refused  int   // for a torn header
	err      error // the first thing that is wrong
}

// wrong notes what is wrong, unless something was before.
func (w *witness) wrong(format string, args ...any) {
	if w.err == nil {
		w.err = fmt.Errorf(format, args...)
	}
}

const storeName = "store"

// digestOf opens a store and checks it.
func (w *witness) digestOf(path string, o Options) (d digest, err error) {
	s, err := Open(path, o)
	if err != nil {
		return d, err
	}
	defer s.Close()
	// A compact copy under another name lacks the parts.
	for err := range s.findings(w.t.Context(), nil, !strings.HasSuffix(path, ".compact")) {
		if !o.acceptOlder {
			return d, err
		}
	}
	return recordsOf(s)
}

func recordsOf(s *Store) (d digest, err error) {
	h := sha256.New()
	err = s.view(func(tx *bbolt.Tx) error {
		return tx.ForEach(func(name []byte, bucket *bbolt.Bucket) error {
			fmt.Fprintf(h, "bucket %s\n", name)
			return bucket.ForEach(func(k, v []byte) error {
				var sizes [8]byte
				binary.LittleEndian.PutUint32(sizes[:], uint32(len(k)))
				binary.LittleEndian.PutUint32(sizes[4:], uint32(len(v)))
				h.Write(sizes[:])
				h.Write(k)
				h.Write(v)
				return nil
			})
		})
	})
	h.Sum(d[:0])
	return d, err
}

func (w *witness) write(d *folder, name string) string {
	w.t.Helper()
	path := filepath.Join(w.folder, name)
	err := errors.Join(os.RemoveAll(EvidenceFolder(path)), os.WriteFile(path, d.files[d.names[name]], 0o600))
	for _, part := range d.parts(name) {
		file := filepath.Join(w.folder, part)
		if data, ok := d.files[d.names[part]]; ok {
			err = errors.Join(err, os.WriteFile(file, data, 0o600))
		} else {
			err = errors.Join(err, os.Mkdir(file, 0o700))
		}
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return path
}

// parts returns the names in the folder of evidence of a store, folders before what is in them. What
// lies in a folder whose name is lost is lost as well.
func (d *folder) parts(store string) (names []string) {
	folder := EvidenceFolder(store)
	there := map[string]bool{".": true}
	for _, name := range slices.Sorted(maps.Keys(d.names)) {
		if (name == folder || strings.HasPrefix(name, folder+"/")) && there[filepath.Dir(name)] {
			there[name] = true
			names = append(names, name)
		}
	}
	return names
}

// image returns the digest of a store with all its parts.
func (d *folder) image(store string) [32]byte {
	h := sha256.New()
	for _, name := range append(d.parts(store), store) {
		data := d.files[d.names[name]]
		fmt.Fprintf(h, "%s %d\n", name, len(data))
		h.Write(data)
	}
	return [32]byte(h.Sum(nil))
}

// durable notes a state that no crash may take back.
func (w *witness) durable(at int, d *folder) {
	w.t.Helper()
	if _, ok := d.names[storeName]; !ok {
		return
	}
	state, err := w.digestOf(w.write(d, storeName), Options{ReadOnly: true})
	if err != nil {
		w.wrong("what is durable after %d operations: %w", at, err)
		return
	}
	if n := len(w.states); n == 0 || w.states[n-1] != state {
		w.states, w.from = append(w.states, state), append(w.from, at)
	}
}

// judge opens the store that a crash leaves: it is as the last durable state or the one after it,
// and has what was said before.
func (w *witness) judge(c crash) {
	w.t.Helper()
	if w.err != nil {
		return
	}
	w.crashes++
	last := -1 // the latest state that was durable
	for last+1 < len(w.from) && w.from[last+1] <= c.at {
		last++
	}
	lines := 0
	for lines < len(w.saidAt) && w.saidAt[lines] <= c.at {
		lines++
	}
	for _, copied := range w.said[:lines] {
		if name, ok := strings.CutPrefix(copied, "copied "); ok {
			w.whole(c, name, true)
		}
	}
	for name := range c.names {
		if name != storeName && !strings.HasPrefix(name, ".") && !strings.Contains(name, ".evidence") {
			w.whole(c, name, false)
		}
	}
	if _, ok := c.names[storeName]; !ok {
		if lines > 0 || last >= 0 {
			w.wrong("%s: there is no store", c.how)
		}
		return
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%x %d %d", c.image(storeName), last, lines))
	if w.opened[key] {
		return
	}
	w.opened[key] = true
	path := w.write(c.folder, storeName)
	state, err := w.digestOf(path, Options{ReadOnly: true})
	if c.header && errors.Is(err, ErrCorrupt) {
		// A clear refusal, and nothing that was acknowledged is lost when the store is opened all
		// the same.
		w.refused++
		state, err = w.digestOf(path, Options{ReadOnly: true, limits: limits{acceptOlder: true}})
	}
	if err != nil {
		w.wrong("%s: %w", c.how, err)
		return
	}
	if !slices.Contains(w.states[max(0, last):min(len(w.states), last+2)], state) {
		w.wrong("%s: the store is neither as of the last durable state nor as of the next", c.how)
	}
	if w.verified[state] < lines && *powerCommand == "" {
		w.holds(c, path, lines)
		w.verified[state] = lines
	}
	if w.random.IntN(20) == 0 && !c.header {
		w.goesOn(c, path)
	}
}

// whole holds that a copy that has its name is a store with nothing wrong.
func (w *witness) whole(c crash, name string, must bool) {
	w.t.Helper()
	if _, ok := c.names[name]; !ok {
		if must {
			w.wrong("%s: %s was said to be copied and is not there", c.how, name)
		}
		return
	}
	key := c.image(name)
	if w.opened[key] || strings.HasSuffix(name, ".proof") || strings.HasSuffix(name, ".unverified") {
		return
	}
	w.opened[key] = true
	if _, err := w.digestOf(w.write(c.folder, name), Options{ReadOnly: true}); err != nil {
		w.wrong("%s: %s: %v", c.how, name, err)
	}
}

// goesOn holds that a store takes commits after a crash.
func (w *witness) goesOn(c crash, path string) {
	w.t.Helper()
	s, err := Open(path, quick)
	if err != nil {
		w.wrong("%s: %w", c.how, err)
		return
	}
	defer s.Close()
	stats, err := s.Stats()
	if err == nil {
		var batches []tree.Persist
		for i, c := range stats.Campaigns {
			batches = append(batches, tree.Persist{Campaign: uint32(i + 1), Spent: c.Nodes + 1, Epoch: c.Epoch + 1})
		}
		err = s.commit(batches...)
	}
	if err := errors.Join(err, s.Check()); err != nil {
		w.wrong("%s: it does not go on: %v", c.how, err)
	}
}

// holds looks for what was said.
func (w *witness) holds(c crash, path string, lines int) {
	w.t.Helper()
	s, err := Open(path, Options{ReadOnly: true, limits: limits{acceptOlder: c.header}})
	if err != nil {
		w.wrong("%s: %w", c.how, err)
		return
	}
	defer s.Close()
	campaigns := s.Campaigns()
	stats, err := s.Stats()
	facts := make([]map[amazons.Key]proof.Fact, len(campaigns))
	for i, c := range campaigns {
		if err == nil {
			facts[i], err = factsIn(s, c.Number)
		}
	}
	if err != nil {
		w.wrong("%s: %w", c.how, err)
		return
	}
	for _, line := range w.said[:lines] {
		var i uint64
		var size int
		var name string
		ok := true
		switch {
		case scan(line, "batch %d %d", &i, &size):
			for n, about := range killCampaigns[:size] {
				for _, f := range killBatch(about, uint64(n), i).Facts {
					ok = ok && n < len(facts) && facts[n][f.Key] == f && stats.Campaigns[n].Nodes >= i
				}
			}
		case scan(line, "campaign %d %s", &i, &name):
			ok = len(campaigns) >= int(i) && campaigns[i-1].Name == name
		case scan(line, "priority %d", &size):
			ok = campaigns[1].Priority == size
		case scan(line, "certificate %d %d", &i, &size):
			p, id := payloadOf(i, size)
			r, n, err := s.OpenCertificate(id)
			if ok = err == nil; ok {
				got, err := io.ReadAll(io.NewSectionReader(r, 0, n))
				ok = err == nil && bytes.Equal(got, p)
			}
		case scan(line, "result %d", &i):
			_, ok, err = s.Result(uint32(i))
			ok = ok && err == nil
		}
		if !ok {
			w.wrong("%s: %q was said before, and the store does not have it", c.how, line)
		}
	}
}

func scan(line, format string, values ...any) bool {
	_, err := fmt.Sscanf(line, format, values...)
	return err == nil
}
