package store

import (
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"

	"amazonsfarm/master/tree"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// The bytes of each record; SCHEMA.md is their description. A value is its
// payload followed by a checksum.

const formatMagic = "amazons proof store\n"

// Format is the version of the file that this build writes and reads, see SCHEMA.md.
const Format = 3

const (
	bucketMeta         = "meta"
	bucketNodes        = "nodes"
	bucketFacts        = "facts"
	bucketCertificates = "certificates"
	bucketUploads      = "uploads"
	bucketChunks       = "chunks"
	bucketHints        = "memories"
)

// bucketNames are the buckets of a store with one campaign. Others have their own, see of.
var bucketNames = []string{bucketMeta, bucketNodes, bucketFacts, bucketCertificates, bucketUploads, bucketChunks,
	bucketHints}

// Keys in the meta bucket; the last four are of the first campaign, and those of others see of.
const (
	keyMagic         = "magic"
	keyFormat        = "format"
	keyCounters      = "counters"
	keyCampaign      = "campaign"
	keyContradiction = "contradiction"
	keyResult        = "result"
)

// of returns the name of a bucket, or of a record in meta, that a campaign has for itself: the
// first has the plain name, as in a store of format 1.
func of(name string, campaign uint32) string {
	if campaign == 1 {
		return name
	}
	return name + "/" + strconv.FormatUint(uint64(campaign), 10)
}

// numberIn undoes of: the number of the campaign whose name it is, 0 where it is none of that kind.
func numberIn(name, full string) uint32 {
	if full == name {
		return 1
	}
	digits, ok := strings.CutPrefix(full, name+"/")
	n, err := strconv.ParseUint(digits, 10, 32)
	if !ok || err != nil || n < 2 || of(name, uint32(n)) != full {
		return 0
	}
	return uint32(n)
}

const (
	sumBytes        = 4
	nodePayload     = 4 + 4 + 8 + 8 + 1
	expandedPayload = nodePayload + 8 // and the numbers of children
	maxNodeBytes    = expandedPayload + 1<<20
	factPayload     = 1 + 8 + 32
	certPayload     = 8 + 8 // for the facts of the first campaign
	certPayloadOf   = certPayload + 4
	uploadPayload   = 32 + 8
	countersPayload = 8 * 8
	tallyBytes      = 4 * 8 // of the counters of another campaign than the first
	uploadKeyBytes  = 8
	chunkKeyBytes   = 8 + 4
	maxJSONBytes    = 1 << 20
	maxFirstMoves   = 1 << 14
)

// chunkBytes is the data of one chunk of a certificate. Two chunks with their keys, checksums and
// page header (16 + 2*(16+12+4) bytes) fill 32 pages of 4 KiB exactly. A leaf of bbolt is split
// only once it holds more than four values, and is written anew with every value that joins it:
// chunks of 1 MiB, one a transaction, wrote 4.5 bytes for each byte of data, these, sixteen a
// transaction, write 1.25.
const chunkBytes = 64<<10 - 40

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// seal returns the payload with its checksum, which also covers bucket and key, so that
// a value under the wrong key is as wrong as a flipped bit.
func seal(bucket string, key, payload []byte) []byte {
	value := make([]byte, 0, len(payload)+sumBytes)
	value = append(value, payload...)
	return binary.LittleEndian.AppendUint32(value, sum(bucket, key, payload))
}

func sum(bucket string, key, payload []byte) uint32 {
	begin, ok := bucketSums[bucket]
	if !ok {
		begin = crc32.Checksum(append([]byte(bucket), 0), castagnoli)
	}
	c := crc32.Update(begin, castagnoli, key)
	return crc32.Update(c, castagnoli, payload)
}

// bucketSums holds the checksums of the names of the buckets of one campaign, each with a zero byte
// after it.
var bucketSums = func() map[string]uint32 {
	sums := map[string]uint32{}
	for _, name := range bucketNames {
		sums[name] = crc32.Checksum(append([]byte(name), 0), castagnoli)
	}
	return sums
}()

// unseal returns the payload of a value, or a CorruptError with the place. The payload
// is part of the value, not a copy.
func unseal(bucket string, key, value []byte) ([]byte, error) {
	n := len(value) - sumBytes
	if n < 0 {
		return nil, corrupt(bucket, key, "its value of %d bytes is too short for a checksum", len(value))
	}
	if binary.LittleEndian.Uint32(value[n:]) != sum(bucket, key, value[:n]) {
		return nil, corrupt(bucket, key, "its checksum does not fit its bytes")
	}
	return value[:n], nil
}

func corrupt(bucket string, key []byte, format string, args ...any) error {
	return &CorruptError{Bucket: bucket, Key: append([]byte{}, key...), Reason: fmt.Sprintf(format, args...)}
}

// unsealFixed is unseal for records of a fixed size.
func unsealFixed(bucket string, key, value []byte, keyBytes, payloadBytes int) ([]byte, error) {
	if len(key) != keyBytes {
		return nil, corrupt(bucket, key, "its key has %d bytes, not %d", len(key), keyBytes)
	}
	p, err := unseal(bucket, key, value)
	if err == nil && len(p) != payloadBytes {
		err = corrupt(bucket, key, "its value has %d bytes, not %d", len(p), payloadBytes)
	}
	return p, err
}

func encodeNode(bucket string, n tree.NodeRecord) (key, value []byte) {
	k := n.Key.Bytes()
	p := make([]byte, 0, expandedPayload+len(n.Children))
	p = binary.LittleEndian.AppendUint32(p, n.Phi)
	p = binary.LittleEndian.AppendUint32(p, n.Delta)
	p = binary.LittleEndian.AppendUint64(p, n.Nodes)
	p = binary.LittleEndian.AppendUint64(p, n.Budget)
	if n.Expanded {
		p = append(p, 1)
	} else {
		p = append(p, 0)
	}
	if n.Expansion > 0 {
		p = binary.LittleEndian.AppendUint64(p, n.Expansion)
		p = append(p, n.Children...)
	}
	return k[:], seal(bucket, k[:], p)
}

func decodeNode(bucket string, key, value []byte) (tree.NodeRecord, error) {
	size := nodePayload
	if len(value) > nodePayload+sumBytes {
		size = max(expandedPayload, len(value)-sumBytes)
	}
	p, err := unsealFixed(bucket, key, value, amazons.KeyBytes, size)
	if err != nil {
		return tree.NodeRecord{}, err
	}
	k, err := amazons.KeyFromBytes(key)
	if err != nil {
		return tree.NodeRecord{}, corrupt(bucket, key, "%v", err)
	}
	n := tree.NodeRecord{
		Key:      k,
		Phi:      binary.LittleEndian.Uint32(p),
		Delta:    binary.LittleEndian.Uint32(p[4:]),
		Nodes:    binary.LittleEndian.Uint64(p[8:]),
		Budget:   binary.LittleEndian.Uint64(p[16:]),
		Expanded: p[24] == 1,
	}
	if size > nodePayload {
		n.Expansion, n.Children = binary.LittleEndian.Uint64(p[nodePayload:]), string(p[expandedPayload:])
		if n.Expansion == 0 {
			return n, corrupt(bucket, key, "its expansion has the number 0")
		}
	}
	if p[24] > 1 {
		return n, corrupt(bucket, key, "unknown flags %#x", p[24])
	}
	if err := checkNode(n); err != nil {
		return n, corrupt(bucket, key, "%v", err)
	}
	return n, nil
}

// checkNode verifies what a record of a node always satisfies, whatever the board.
func checkNode(n tree.NodeRecord) error {
	if err := checkNumbers(n.Phi, n.Delta); err != nil {
		return err
	}
	if size := expandedPayload + len(n.Children); size > maxNodeBytes {
		return fmt.Errorf("the record of a node has %d bytes, more than %d", size, maxNodeBytes)
	}
	if n.Expansion > 0 && !n.Expanded || len(n.Children) > 0 && n.Expansion == 0 {
		return errors.New("a node has numbers of children and is not expanded, or nobody knows when")
	}
	for rest := n.Children; rest != ""; {
		var phi, delta uint32
		var err error
		if phi, delta, rest, err = numbers.Next(rest); err != nil {
			return err
		}
		if phi == 0 && delta == 0 {
			continue
		}
		if err := checkNumbers(phi, delta); err != nil {
			return err
		}
	}
	return nil
}

func checkNumbers(phi, delta uint32) error {
	if phi < 1 || phi >= tree.Infinity || delta < 1 || delta >= tree.Infinity {
		return fmt.Errorf("the numbers %d and %d of a node are not within 1 to %d", phi, delta, tree.Infinity-1)
	}
	return nil
}

func encodeFact(bucket string, f proof.Fact) (key, value []byte) {
	k := f.Key.Bytes()
	p := make([]byte, 0, factPayload)
	p = append(p, byte(f.Verdict))
	p = binary.LittleEndian.AppendUint64(p, f.Nodes)
	p = append(p, f.Certificate[:]...)
	return k[:], seal(bucket, k[:], p)
}

func decodeFact(bucket string, key, value []byte) (proof.Fact, error) {
	p, err := unsealFixed(bucket, key, value, amazons.KeyBytes, factPayload)
	if err != nil {
		return proof.Fact{}, err
	}
	k, err := amazons.KeyFromBytes(key)
	if err != nil {
		return proof.Fact{}, corrupt(bucket, key, "%v", err)
	}
	f := proof.Fact{Key: k, Verdict: eval.Verdict(p[0]), Nodes: binary.LittleEndian.Uint64(p[1:])}
	copy(f.Certificate[:], p[9:])
	if err := checkFact(f); err != nil {
		return f, corrupt(bucket, key, "%v", err)
	}
	return f, nil
}

// checkFact verifies what a fact always satisfies, whatever the board.
func checkFact(f proof.Fact) error {
	if f.Verdict != eval.Won && f.Verdict != eval.Lost {
		return fmt.Errorf("a fact says won or lost, not %v", f.Verdict)
	}
	return nil
}

// onBoard verifies that k is a canonical position of board b.
func onBoard(b amazons.Board, k amazons.Key) error {
	s, err := k.State(b)
	if err != nil {
		return err
	}
	if s.CanonicalKey(b) != k {
		return fmt.Errorf("the position %x is not the canonical one of its symmetric images", k.Bytes())
	}
	return nil
}

// A certificate is complete once it has this record.
type certRecord struct {
	number uint64 // under which its chunks lie
	size   uint64 // bytes
	pool   uint32 // it is evidence for the facts of this campaign, and of those that share them; from 1
}

func encodeCertificate(id proof.ID, c certRecord) []byte {
	p := binary.LittleEndian.AppendUint64(nil, c.number)
	p = binary.LittleEndian.AppendUint64(p, c.size)
	if c.pool != 1 {
		p = binary.LittleEndian.AppendUint32(p, c.pool)
	}
	return seal(bucketCertificates, id[:], p)
}

func decodeCertificate(key, value []byte) (proof.ID, certRecord, error) {
	var id proof.ID
	size := certPayload
	if len(value) == certPayloadOf+sumBytes {
		size = certPayloadOf
	}
	p, err := unsealFixed(bucketCertificates, key, value, len(id), size)
	if err != nil {
		return id, certRecord{}, err
	}
	copy(id[:], key)
	c := certRecord{number: binary.LittleEndian.Uint64(p), size: binary.LittleEndian.Uint64(p[8:]), pool: 1}
	if size == certPayloadOf {
		if c.pool = binary.LittleEndian.Uint32(p[certPayload:]); c.pool < 2 {
			return id, c, corrupt(bucketCertificates, key, "campaign %d has no evidence of this kind", c.pool)
		}
	}
	if c.size > chunkBytes<<32 {
		return id, c, corrupt(bucketCertificates, key, "it claims %d bytes, more than any certificate can have", c.size)
	}
	return id, c, nil
}

// chunkCount returns how many chunks a certificate of the given size has.
func chunkCount(size uint64) uint64 { return (size + chunkBytes - 1) / chunkBytes }

// chunkSize returns the bytes of data in chunk i of a certificate of the given size.
func chunkSize(size, i uint64) int { return int(min(size-i*chunkBytes, chunkBytes)) }

func uploadKey(number uint64) []byte { return binary.BigEndian.AppendUint64(nil, number) }

func chunkKey(number, index uint64) []byte {
	return binary.BigEndian.AppendUint32(uploadKey(number), uint32(index))
}

func encodeUpload(number uint64, id proof.ID, size uint64) []byte {
	return seal(bucketUploads, uploadKey(number), binary.LittleEndian.AppendUint64(id[:], size))
}

func decodeUpload(key, value []byte) (number uint64, id proof.ID, size uint64, err error) {
	p, err := unsealFixed(bucketUploads, key, value, uploadKeyBytes, uploadPayload)
	if err != nil {
		return 0, id, 0, err
	}
	copy(id[:], p)
	return binary.BigEndian.Uint64(key), id, binary.LittleEndian.Uint64(p[32:]), nil
}

// counters are kept in one record that every transaction writes.
type counters struct {
	tally                   // of the first campaign
	certificates     uint64 // records in this bucket
	certificateBytes uint64
	uploads          uint64 // number of the last upload begun
	commits          uint64 // transactions of this program

	more map[uint32]*tally // of the other campaigns, each in a record of its own that is written when it changes
}

// tally are the counters of one campaign.
type tally struct {
	positions, facts uint64 // records in the buckets that it has for itself
	searched, epoch  uint64 // nodes of its searches, and epoch of its tree
}

// of returns the counters of a campaign.
func (c *counters) of(campaign uint32) *tally {
	if campaign == 1 {
		return &c.tally
	}
	return c.more[campaign]
}

func encodeTally(campaign uint32, s tally) []byte {
	p := make([]byte, 0, tallyBytes)
	for _, v := range []uint64{s.positions, s.facts, s.searched, s.epoch} {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	return seal(bucketMeta, []byte(of(keyCounters, campaign)), p)
}

func decodeTally(campaign uint32, value []byte) (tally, error) {
	key := of(keyCounters, campaign)
	p, err := unsealFixed(bucketMeta, []byte(key), value, len(key), tallyBytes)
	if err != nil {
		return tally{}, err
	}
	var s tally
	for i, v := range []*uint64{&s.positions, &s.facts, &s.searched, &s.epoch} {
		*v = binary.LittleEndian.Uint64(p[8*i:])
	}
	return s, nil
}

func encodeCounters(c counters) []byte {
	p := make([]byte, 0, countersPayload)
	for _, v := range []uint64{c.positions, c.facts, c.certificates, c.certificateBytes, c.uploads, c.commits, c.searched,
		c.epoch} {
		p = binary.LittleEndian.AppendUint64(p, v)
	}
	return seal(bucketMeta, []byte(keyCounters), p)
}

func decodeCounters(value []byte) (counters, error) {
	p, err := unsealFixed(bucketMeta, []byte(keyCounters), value, len(keyCounters), countersPayload)
	if err != nil {
		return counters{}, err
	}
	var c counters
	for i, v := range []*uint64{&c.positions, &c.facts, &c.certificates, &c.certificateBytes, &c.uploads, &c.commits,
		&c.searched, &c.epoch} {
		*v = binary.LittleEndian.Uint64(p[8*i:])
	}
	return c, nil
}

func encodeFormat(version uint32) []byte {
	return seal(bucketMeta, []byte(keyFormat), binary.LittleEndian.AppendUint32(nil, version))
}

func decodeFormat(value []byte) (uint32, error) {
	p, err := unsealFixed(bucketMeta, []byte(keyFormat), value, len(keyFormat), 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(p), nil
}

// Records that are few and may grow are JSON. Readers pass over fields they do not know; a change
// of meaning takes a new format version.

func encodeJSON(key string, v any) ([]byte, error) {
	p, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(p) > maxJSONBytes {
		return nil, fmt.Errorf("%w: the %s has %d bytes, more than %d", ErrTooLarge, key, len(p), maxJSONBytes)
	}
	return seal(bucketMeta, []byte(key), p), nil
}

func decodeJSON(key string, value []byte, v any) error {
	p, err := unseal(bucketMeta, []byte(key), value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(p, v); err != nil {
		return corrupt(bucketMeta, []byte(key), "%v", err)
	}
	return nil
}

// Result is the final answer, so that a solved campaign answers at once.
type Result struct {
	// of the root for the side to move: won, lost; unknown with NoGivenMoveWins
	Verdict string `json:"outcome"`
	Winner  string `json:"winner,omitempty"` // white or black
	// first moves were given and each of them loses
	NoGivenMoveWins bool   `json:"no_given_move_wins,omitempty"`
	WinningMove     string `json:"winning_move,omitempty"` // at the root
	// the independent checker has accepted the certificate
	Verified    bool            `json:"verified"`
	Certificate CertificateFile `json:"certificate,omitzero"`
	Nodes       uint64          `json:"nodes"`   // expanded by df-pn in all leases
	Seconds     float64         `json:"seconds"` // of search, over all runs of the master
	Workers     int             `json:"workers,omitempty"`
	Finished    time.Time       `json:"finished,omitzero"`
	Build       string          `json:"build,omitempty"`
}

// CertificateFile names the merged certificate of a result, a file beside the store.
type CertificateFile struct {
	Path      string `json:"path"`
	SHA256    string `json:"sha256"` // 64 hexadecimal digits
	Bytes     int64  `json:"bytes"`
	Positions uint64 `json:"positions"` // entries
}

// A contradiction as it is stored.
type contradictionJSON struct {
	Key   string    `json:"key"`
	Known claimJSON `json:"known"`
	Claim claimJSON `json:"claim"`
}

type claimJSON struct {
	Verdict uint8     `json:"outcome"`
	Basis   uint8     `json:"basis"`
	Worker  string    `json:"worker,omitempty"`
	Fact    *factJSON `json:"fact,omitempty"`
}

type factJSON struct {
	Key         string `json:"key"`
	Verdict     uint8  `json:"outcome"`
	Work        uint64 `json:"work"`
	Certificate string `json:"certificate"`
}

func encodeContradiction(campaign uint32, c tree.Contradiction) ([]byte, error) {
	hexKey := func(k amazons.Key) string { b := k.Bytes(); return hex.EncodeToString(b[:]) }
	claim := func(c tree.Claim) claimJSON {
		j := claimJSON{Verdict: uint8(c.Verdict), Basis: uint8(c.Basis), Worker: c.Worker}
		if f := c.Fact; f != (proof.Fact{}) {
			j.Fact = &factJSON{Key: hexKey(f.Key), Verdict: uint8(f.Verdict), Work: f.Nodes,
				Certificate: hex.EncodeToString(f.Certificate[:])}
		}
		return j
	}
	return encodeJSON(of(keyContradiction, campaign), contradictionJSON{Key: hexKey(c.Key), Known: claim(c.Known),
		Claim: claim(c.Claim)})
}

func decodeContradiction(campaign uint32, value []byte) (*tree.Contradiction, error) {
	var j contradictionJSON
	if err := decodeJSON(of(keyContradiction, campaign), value, &j); err != nil {
		return nil, err
	}
	var failed error
	key := func(text string) amazons.Key {
		b, err := hex.DecodeString(text)
		k, err2 := amazons.KeyFromBytes(b)
		failed = errors.Join(failed, err, err2)
		return k
	}
	claim := func(j claimJSON) tree.Claim {
		c := tree.Claim{Verdict: eval.Verdict(j.Verdict), Basis: tree.Basis(j.Basis), Worker: j.Worker}
		if f := j.Fact; f != nil {
			c.Fact = proof.Fact{Key: key(f.Key), Verdict: eval.Verdict(f.Verdict), Nodes: f.Work}
			id, err := hex.DecodeString(f.Certificate)
			if err == nil && len(id) != len(c.Fact.Certificate) {
				err = fmt.Errorf("a certificate id has %d bytes", len(id))
			}
			failed = errors.Join(failed, err)
			copy(c.Fact.Certificate[:], id)
		}
		return c
	}
	c := &tree.Contradiction{Key: key(j.Key), Known: claim(j.Known), Claim: claim(j.Claim)}
	if failed != nil {
		return nil, corrupt(bucketMeta, []byte(of(keyContradiction, campaign)), "%v", failed)
	}
	return c, nil
}
