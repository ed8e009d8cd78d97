// Package record is the bytes of each record of a proof store: pure functions between bytes and
// values. SCHEMA.md describes every byte.
//
// A store is a bbolt file: buckets of keys and values. A value is a payload and then a checksum,
// which covers the names of bucket and key as well ([Seal], [Unseal]). Each kind of record has an
// Encode and a Decode function. Decoders take any bytes: what no encoder wrote is a *CorruptError
// with the place, never a panic. A campaign has some buckets and records for itself ([Of]).
//
// Records are small, so each is read whole and its checksum verified before any of its fields
// counts. Fixed fields come first and what varies comes last. A decoder looks at lengths before it
// looks at content, and at content before it returns: callers never see a value that no encoder
// could have written.
package record

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"unicode/utf8"

	"amazonsfarm/master/tree"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/numbers"
	"amazonsfarm/shared/proof"
)

// Magic is the payload of the record by which a file is known as a proof store.
const Magic = "amazons proof store\n"

// Format is the version of the file that this build writes and reads, see SCHEMA.md.
const Format = 4

// Names of the buckets; see Of for campaigns after the first one. The bucket of hints has the name
// that it got when hints were called memories.
const (
	BucketMeta         = "meta"
	BucketNodes        = "nodes"
	BucketFacts        = "facts"
	BucketCertificates = "certificates"
	BucketHints        = "memories"
)

// BucketNames are the buckets of a store with one campaign. Others have buckets of their own, see Of.
var BucketNames = []string{BucketMeta, BucketNodes, BucketFacts, BucketCertificates, BucketHints}

// Keys in the meta bucket. The last four are of the first campaign; see Of for others.
const (
	KeyMagic         = "magic"
	KeyFormat        = "format"
	KeyCounters      = "counters"
	KeyCampaign      = "campaign"
	KeyContradiction = "contradiction"
	KeyResult        = "result"
)

// Of returns the name of a bucket, or of a record in meta, that a campaign has for itself: the plain
// name for the first campaign, and "nodes/2" for the second one's nodes.
func Of(name string, campaign uint32) string {
	if campaign == 1 {
		return name
	}
	return name + "/" + strconv.FormatUint(uint64(campaign), 10)
}

// NumberIn undoes Of: it returns the number of the campaign, 0 for a name of another kind.
func NumberIn(name, full string) uint32 {
	if full == name {
		return 1
	}
	digits, ok := strings.CutPrefix(full, name+"/")
	n, err := strconv.ParseUint(digits, 10, 32)
	// The last comparison refuses other spellings of a number, such as nodes/02.
	if !ok || err != nil || n < 2 || Of(name, uint32(n)) != full {
		return 0
	}
	return uint32(n)
}

// Sizes of keys and payloads, in bytes.
const (
	SumBytes        = 4
	NodePayload     = 4 + 4 + 8 + 8 + 1
	expandedPayload = NodePayload + 8 // and the numbers of children
	maxNodeBytes    = expandedPayload + 1<<20
	FactPayload     = 1 + 8 + 32
	CertPayload     = 8 + 8 + 4 + 1 // and the text that says who has verified it
	// MaxVerifiedBytes bounds that text.
	MaxVerifiedBytes = 200
	MaxJSONBytes     = 1 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Seal returns the payload with its checksum, which also covers bucket and key, so that
// a value under the wrong key is as wrong as a flipped bit.
func Seal(bucket string, key, payload []byte) []byte {
	value := make([]byte, 0, len(payload)+SumBytes)
	value = append(value, payload...)
	return binary.LittleEndian.AppendUint32(value, sum(bucket, key, payload))
}

// sum is the CRC-32C of the bucket's name, a zero byte, the key and the payload. The zero byte keeps the
// end of a name apart from the beginning of a key.
func sum(bucket string, key, payload []byte) uint32 {
	c := crc32.Checksum(append([]byte(bucket), 0), castagnoli)
	return crc32.Update(crc32.Update(c, castagnoli, key), castagnoli, payload)
}

// Unseal returns the payload of a value, or a CorruptError with the place. The payload
// is part of the value, not a copy.
func Unseal(bucket string, key, value []byte) ([]byte, error) {
	n := len(value) - SumBytes
	if n < 0 {
		return nil, Corrupt(bucket, key, "its value of %d bytes is too short for a checksum", len(value))
	}
	if binary.LittleEndian.Uint32(value[n:]) != sum(bucket, key, value[:n]) {
		return nil, Corrupt(bucket, key, "its checksum does not fit its bytes")
	}
	return value[:n], nil
}

// Corrupt returns a CorruptError about a record.
func Corrupt(bucket string, key []byte, format string, args ...any) error {
	return &CorruptError{Bucket: bucket, Key: append([]byte{}, key...), Reason: fmt.Sprintf(format, args...)}
}

// Damaged returns a CorruptError about a bucket as a whole, or about the file's own structure where bucket is "".
func Damaged(bucket, format string, args ...any) error {
	return &CorruptError{Bucket: bucket, Reason: fmt.Sprintf(format, args...)}
}

// unsealFixed is Unseal for records of a fixed size.
func unsealFixed(bucket string, key, value []byte, keyBytes, payloadBytes int) ([]byte, error) {
	if len(key) != keyBytes {
		return nil, Corrupt(bucket, key, "its key has %d bytes, not %d", len(key), keyBytes)
	}
	p, err := Unseal(bucket, key, value)
	if err == nil && len(p) != payloadBytes {
		err = Corrupt(bucket, key, "its value has %d bytes, not %d", len(p), payloadBytes)
	}
	return p, err
}

// EncodeNode returns the record of a tree position.
// Its payload: phi 4 bytes, delta 4, nodes 8, budget 8, and 1 where it is expanded, else 0. If the expansion
// has a number, the number follows, 8, and the numbers of the children as package numbers writes them.
func EncodeNode(bucket string, n tree.NodeRecord) (key, value []byte) {
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
	return k[:], Seal(bucket, k[:], p)
}

// DecodeNode undoes EncodeNode, and checks the record as CheckNode does.
func DecodeNode(bucket string, key, value []byte) (tree.NodeRecord, error) {
	// There are two forms: the fixed fields, or these and the expansion. A length between the two is damage.
	size := NodePayload
	if len(value) > NodePayload+SumBytes {
		size = max(expandedPayload, len(value)-SumBytes)
	}
	p, err := unsealFixed(bucket, key, value, amazons.KeyBytes, size)
	if err != nil {
		return tree.NodeRecord{}, err
	}
	k, err := amazons.KeyFromBytes(key)
	if err != nil {
		return tree.NodeRecord{}, Corrupt(bucket, key, "%v", err)
	}
	n := tree.NodeRecord{
		Key:      k,
		Phi:      binary.LittleEndian.Uint32(p),
		Delta:    binary.LittleEndian.Uint32(p[4:]),
		Nodes:    binary.LittleEndian.Uint64(p[8:]),
		Budget:   binary.LittleEndian.Uint64(p[16:]),
		Expanded: p[24] == 1,
	}
	if size > NodePayload {
		n.Expansion, n.Children = binary.LittleEndian.Uint64(p[NodePayload:]), string(p[expandedPayload:])
		if n.Expansion == 0 {
			return n, Corrupt(bucket, key, "its expansion has the number 0")
		}
	}
	if p[24] > 1 {
		return n, Corrupt(bucket, key, "unknown flags %#x", p[24])
	}
	if err := CheckNode(n); err != nil {
		return n, Corrupt(bucket, key, "%v", err)
	}
	return n, nil
}

// CheckNode verifies what a record of a node always satisfies, whatever the board.
func CheckNode(n tree.NodeRecord) error {
	if err := checkNumbers(n.Phi, n.Delta); err != nil {
		return err
	}
	if size := expandedPayload + len(n.Children); size > maxNodeBytes {
		return fmt.Errorf("the record of a node has %d bytes, more than %d", size, maxNodeBytes)
	}
	if n.Expansion > 0 && !n.Expanded || len(n.Children) > 0 && n.Expansion == 0 {
		return errors.New("a position has numbers of children but is not expanded, or its expansion has no number")
	}
	for rest := n.Children; rest != ""; {
		var phi, delta uint32
		var err error
		if phi, delta, rest, err = numbers.Next(rest); err != nil {
			return err
		}
		// Two zeros stand for numbers that nobody knows yet.
		if phi == 0 && delta == 0 {
			continue
		}
		if err := checkNumbers(phi, delta); err != nil {
			return err
		}
	}
	return nil
}

// checkNumbers returns why proof and disproof numbers are not those of an open position, nil if
// they may be. Zero and infinity would say that the position is decided, which only a fact may say.
func checkNumbers(phi, delta uint32) error {
	if phi < 1 || phi >= graph.Infinity || delta < 1 || delta >= graph.Infinity {
		return fmt.Errorf("the numbers %d and %d of a node are not within 1 to %d", phi, delta, graph.Infinity-1)
	}
	return nil
}

// EncodeFact returns the record of a fact.
// Its payload: verdict 1 byte, nodes 8, SHA-256 of the certificate 32.
func EncodeFact(bucket string, f proof.Fact) (key, value []byte) {
	k := f.Key.Bytes()
	p := make([]byte, 0, FactPayload)
	p = append(p, byte(f.Verdict))
	p = binary.LittleEndian.AppendUint64(p, f.Nodes)
	p = append(p, f.Certificate[:]...)
	return k[:], Seal(bucket, k[:], p)
}

// DecodeFact undoes EncodeFact, and checks the record as CheckFact does.
func DecodeFact(bucket string, key, value []byte) (proof.Fact, error) {
	p, err := unsealFixed(bucket, key, value, amazons.KeyBytes, FactPayload)
	if err != nil {
		return proof.Fact{}, err
	}
	k, err := amazons.KeyFromBytes(key)
	if err != nil {
		return proof.Fact{}, Corrupt(bucket, key, "%v", err)
	}
	f := proof.Fact{Key: k, Verdict: eval.Verdict(p[0]), Nodes: binary.LittleEndian.Uint64(p[1:])}
	copy(f.Certificate[:], p[9:])
	if err := CheckFact(f); err != nil {
		return f, Corrupt(bucket, key, "%v", err)
	}
	return f, nil
}

// CheckFact verifies what a fact always satisfies, whatever the board.
func CheckFact(f proof.Fact) error {
	if f.Verdict != eval.Won && f.Verdict != eval.Lost {
		return fmt.Errorf("a fact says won or lost, not %v", f.Verdict)
	}
	return nil
}

// OnBoard verifies that k is a canonical position of board b.
func OnBoard(b amazons.Board, k amazons.Key) error {
	s, err := k.State(b)
	if err != nil {
		return err
	}
	if s.CanonicalKey(b) != k {
		return fmt.Errorf("the position %x is not the canonical one of its symmetric images", k.Bytes())
	}
	return nil
}

// Certificate is the record of a certificate, whose bytes lie in the folder of evidence.
type Certificate struct {
	Number   uint64 // of its arrival, from 1
	Size     uint64 // bytes
	Pool     uint32 // its first campaign, from 1
	Verified string // who has verified it; empty: nobody yet
	// Outline is what proof.Outline says of the part, where the part does not lie in a folder beside.
	Outline []byte
	Dropped bool // its bytes were verified and are not kept
}

// maxCertificateBytes is a bound on sizes that no certificate reaches.
const maxCertificateBytes = 1 << 48

// Flags in a record of a certificate.
const (
	// flagFragment marked what came from a store of format 3: it might rely on others without naming them.
	flagFragment = 1 << iota
	flagOutline
	flagDropped
)

// EncodeCertificate returns the record of a certificate.
// Its payload: number 8 bytes, size 8, pool 4, flags 1, and the text that says who has verified it. With
// an outline, a byte with the length of the text comes before the text, and the outline after it.
func EncodeCertificate(id proof.ID, c Certificate) []byte {
	p := binary.LittleEndian.AppendUint64(make([]byte, 0, CertPayload+len(c.Verified)), c.Number)
	p = binary.LittleEndian.AppendUint64(p, c.Size)
	p = binary.LittleEndian.AppendUint32(p, c.Pool)
	flags := byte(0)
	for flag, set := range map[byte]bool{flagOutline: c.Outline != nil, flagDropped: c.Dropped} {
		if set {
			flags |= flag
		}
	}
	if p = append(p, flags); c.Outline != nil {
		p = append(p, byte(len(c.Verified)))
	}
	return Seal(BucketCertificates, id[:], append(append(p, c.Verified...), c.Outline...))
}

// DecodeCertificate undoes EncodeCertificate.
func DecodeCertificate(key, value []byte) (proof.ID, Certificate, error) {
	var id proof.ID
	p, err := unsealFixed(BucketCertificates, key, value, len(id), max(CertPayload, len(value)-SumBytes))
	if err != nil {
		return id, Certificate{}, err
	}
	copy(id[:], key)
	c := Certificate{Number: binary.LittleEndian.Uint64(p), Size: binary.LittleEndian.Uint64(p[8:]),
		Pool: binary.LittleEndian.Uint32(p[16:]), Dropped: p[20]&flagDropped != 0}
	text := p[CertPayload:]
	if p[20]&flagOutline != 0 {
		n := 0
		if len(text) > 0 {
			n = 1 + int(text[0])
		}
		if n == 0 || n > len(text) {
			return id, c, Corrupt(BucketCertificates, key, "its text is longer than the record")
		}
		c.Outline, text = bytes.Clone(text[n:]), text[1:n]
	}
	c.Verified = string(text)
	switch {
	case c.Pool < 1:
		err = Corrupt(BucketCertificates, key, "it is for no pool")
	case c.Size > maxCertificateBytes:
		err = Corrupt(BucketCertificates, key, "it claims %d bytes, more than any certificate can have", c.Size)
	case p[20]&flagFragment != 0:
		err = Corrupt(BucketCertificates, key, "it was made with format 3, which no build reads any more: begin anew")
	case p[20] >= flagDropped<<1, c.Dropped && c.Outline == nil:
		err = Corrupt(BucketCertificates, key, "unknown flags %#x", p[20])
	default:
		if bad := CheckVerified(c.Verified); bad != nil {
			err = Corrupt(BucketCertificates, key, "%v", bad)
		}
	}
	return id, c, err
}

// CheckVerified verifies what the text about who has verified a certificate always satisfies.
func CheckVerified(by string) error {
	if len(by) > MaxVerifiedBytes || !utf8.ValidString(by) {
		return fmt.Errorf("who has verified it is no text of at most %d bytes", MaxVerifiedBytes)
	}
	return nil
}

// Counters are the counters of a store. Every transaction writes their record.
type Counters struct {
	Tally                   // of the first campaign
	Certificates     uint64 // complete ones
	CertificateBytes uint64
	Arrivals         uint64 // number of the last certificate that came
	Commits          uint64 // transactions of this program

	// More are the counters of the other campaigns, each in a record of its own that is written when
	// it changes.
	More map[uint32]*Tally
}

// Tally are the counters of one campaign.
type Tally struct {
	Positions, Facts uint64 // records in buckets of its own
	Searched, Epoch  uint64 // nodes of its searches, and epoch of its tree
}

// Of returns the counters of a campaign, nil if it has none.
func (c *Counters) Of(campaign uint32) *Tally {
	if campaign == 1 {
		return &c.Tally
	}
	return c.More[campaign]
}

// EncodeTally returns the record of the counters of a campaign after the first one.
func EncodeTally(campaign uint32, t Tally) []byte {
	return encodeNumbers(Of(KeyCounters, campaign), t.Positions, t.Facts, t.Searched, t.Epoch)
}

// DecodeTally undoes EncodeTally.
func DecodeTally(campaign uint32, value []byte) (t Tally, err error) {
	err = decodeNumbers(Of(KeyCounters, campaign), value, &t.Positions, &t.Facts, &t.Searched, &t.Epoch)
	return t, err
}

// EncodeCounters returns the record of the counters of the store and of its first campaign.
// The file has them in this order, so a new counter needs a new format.
func EncodeCounters(c Counters) []byte {
	return encodeNumbers(KeyCounters, c.Positions, c.Facts, c.Certificates, c.CertificateBytes, c.Arrivals, c.Commits,
		c.Searched, c.Epoch)
}

// DecodeCounters undoes EncodeCounters.
func DecodeCounters(value []byte) (c Counters, err error) {
	err = decodeNumbers(KeyCounters, value, &c.Positions, &c.Facts, &c.Certificates, &c.CertificateBytes, &c.Arrivals,
		&c.Commits, &c.Searched, &c.Epoch)
	return c, err
}

// encodeNumbers writes whole numbers of 8 bytes each, one after the other.
func encodeNumbers(key string, numbers ...uint64) []byte {
	var p []byte
	for _, n := range numbers {
		p = binary.LittleEndian.AppendUint64(p, n)
	}
	return Seal(BucketMeta, []byte(key), p)
}

// decodeNumbers undoes encodeNumbers. Another length than that of so many numbers is damage.
func decodeNumbers(key string, value []byte, numbers ...*uint64) error {
	p, err := unsealFixed(BucketMeta, []byte(key), value, len(key), 8*len(numbers))
	if err != nil {
		return err
	}
	for i, n := range numbers {
		*n = binary.LittleEndian.Uint64(p[8*i:])
	}
	return nil
}

// EncodeFormat returns the record of the format version.
func EncodeFormat(version uint32) []byte {
	return Seal(BucketMeta, []byte(KeyFormat), binary.LittleEndian.AppendUint32(nil, version))
}

// DecodeFormat undoes EncodeFormat.
func DecodeFormat(value []byte) (uint32, error) {
	p, err := unsealFixed(BucketMeta, []byte(KeyFormat), value, len(KeyFormat), 4)
	if err != nil {
		return 0, err
	}
	return binary.LittleEndian.Uint32(p), nil
}

// Some records are JSON, because they are few and may get new fields. Readers pass over fields that
// they do not know. A change of meaning needs a new format version.

// EncodeJSON returns a record of meta as JSON. Errors: ErrTooLarge.
func EncodeJSON(key string, v any) ([]byte, error) {
	p, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	if len(p) > MaxJSONBytes {
		return nil, fmt.Errorf("%w: the %s has %d bytes, more than %d", ErrTooLarge, key, len(p), MaxJSONBytes)
	}
	return Seal(BucketMeta, []byte(key), p), nil
}

// DecodeJSON undoes EncodeJSON.
func DecodeJSON(key string, value []byte, v any) error {
	p, err := Unseal(BucketMeta, []byte(key), value)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(p, v); err != nil {
		return Corrupt(BucketMeta, []byte(key), "%v", err)
	}
	return nil
}

// EncodeContradiction returns the record of what stopped a campaign.
func EncodeContradiction(campaign uint32, c tree.Contradiction) ([]byte, error) {
	return EncodeJSON(Of(KeyContradiction, campaign), c)
}

// DecodeContradiction undoes EncodeContradiction.
func DecodeContradiction(campaign uint32, value []byte) (*tree.Contradiction, error) {
	c := new(tree.Contradiction)
	return c, DecodeJSON(Of(KeyContradiction, campaign), value, c)
}
