package farmv1

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"

	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
)

// ErrMalformed is wrapped by all errors about a message whose parts cannot be read. The sender has
// to be mended; sending the message again is of no use.
var ErrMalformed = errors.New("malformed message")

// WriteVerdict writes a verdict. Its number in a message is that of package eval.
func WriteVerdict(v eval.Verdict) Verdict { return Verdict(v) }

// ReadVerdict reads a verdict; unspecified is Open. The error wraps ErrMalformed.
func ReadVerdict(v Verdict) (eval.Verdict, error) {
	if _, known := Verdict_name[int32(v)]; !known {
		return eval.Open, fmt.Errorf("%w: %d is no verdict", ErrMalformed, v)
	}
	return eval.Verdict(v), nil
}

// WriteKey writes the key of a position.
func WriteKey(k amazons.Key) []byte {
	p := k.Bytes()
	return p[:]
}

// WriteParent writes the key of a position above another; nil where there is none.
func WriteParent(k amazons.Key) []byte {
	if k == (amazons.Key{}) {
		return nil
	}
	return WriteKey(k)
}

// ReadKey reads the key of a canonical position of a board, and that position. The error wraps
// ErrMalformed.
func ReadKey(b amazons.Board, p []byte) (amazons.Key, amazons.State, error) {
	k, err := amazons.KeyFromBytes(p)
	if err != nil {
		return k, amazons.State{}, fmt.Errorf("%w: bad position: %v", ErrMalformed, err)
	}
	s, err := k.State(b)
	if err != nil {
		return k, s, fmt.Errorf("%w: bad position: %v", ErrMalformed, err)
	}
	if s.CanonicalKey(b) != k {
		return k, s, fmt.Errorf("%w: bad position: %x is not canonical", ErrMalformed, p)
	}
	return k, s, nil
}

// CarryFacts adds facts to a Lease or News, without the names of their certificates, for which workers have no
// use. A master sends up to a million facts a second, so they are added as the bytes that they are on the wire:
// GetFacts finds none of them in the message that is sent, and all in the one that arrives.
func CarryFacts(m proto.Message, list []proof.Fact) {
	to := m.ProtoReflect()
	field := to.Descriptor().Fields().ByName("facts").Number()
	out, fact := slices.Grow([]byte(to.GetUnknown()), len(list)*32), []byte(nil) // most facts take fewer bytes
	for _, f := range list {
		key := f.Key.Bytes()
		fact = protowire.AppendBytes(protowire.AppendTag(fact[:0], 1, protowire.BytesType), key[:])
		fact = protowire.AppendTag(fact, 2, protowire.VarintType)
		fact = protowire.AppendVarint(fact, uint64(WriteVerdict(f.Verdict)))
		if f.Nodes > 0 {
			fact = protowire.AppendVarint(protowire.AppendTag(fact, 3, protowire.VarintType), f.Nodes)
		}
		out = protowire.AppendBytes(protowire.AppendTag(out, field, protowire.BytesType), fact)
	}
	to.SetUnknown(out)
}

// WriteFacts writes facts. The receiver of a fact without a certificate has to trust the sender.
func WriteFacts(list []proof.Fact) []*Fact {
	out := make([]*Fact, len(list))
	for i, f := range list {
		out[i] = &Fact{Key: WriteKey(f.Key), Verdict: WriteVerdict(f.Verdict), Nodes: f.Nodes}
		if f.Certificate != (proof.ID{}) {
			out[i].CertificateSha256 = f.Certificate[:]
		}
	}
	return out
}

// ReadFact reads a fact about a position of a board. It may lack a certificate; a receiver that
// needs one has to look. The error wraps ErrMalformed.
func ReadFact(b amazons.Board, f *Fact) (proof.Fact, error) {
	key, _, err := ReadKey(b, f.GetKey())
	if err != nil {
		return proof.Fact{}, err
	}
	verdict, err := ReadVerdict(f.GetVerdict())
	if err != nil {
		return proof.Fact{}, err
	}
	out := proof.Fact{Key: key, Verdict: verdict, Nodes: f.GetNodes()}
	switch sum := f.GetCertificateSha256(); {
	case verdict == eval.Open:
		return proof.Fact{}, fmt.Errorf("%w: a fact has no verdict", ErrMalformed)
	case len(sum) == len(out.Certificate):
		out.Certificate = proof.ID(sum)
	case len(sum) > 0:
		return proof.Fact{}, fmt.Errorf("%w: a certificate's SHA-256 has %d bytes", ErrMalformed, len(sum))
	}
	return out, nil
}

// ReadFacts reads facts about positions of a board. The error is that of the first bad one.
func ReadFacts(b amazons.Board, list []*Fact) ([]proof.Fact, error) {
	out := make([]proof.Fact, len(list))
	for i, f := range list {
		var err error
		if out[i], err = ReadFact(b, f); err != nil {
			return nil, fmt.Errorf("fact %d: %w", i+1, err)
		}
	}
	return out, nil
}

// ReadRoot reads the root of a campaign. The error wraps ErrMalformed.
func ReadRoot(c *Campaign) (amazons.Position, error) {
	root, err := amazons.ParsePosition(c.GetRoot())
	if err != nil {
		return root, fmt.Errorf("%w: root of campaign %d: %v", ErrMalformed, c.GetNumber(), err)
	}
	return root, nil
}

// WriteMoves writes moves as text.
func WriteMoves(moves []amazons.Move) []string {
	var out []string
	for _, m := range moves {
		out = append(out, m.String())
	}
	return out
}

// WriteCount writes a count: one that is too large for a message, or negative, becomes the largest.
func WriteCount(n int) uint32 {
	if n < 0 || n > math.MaxUint32 {
		return math.MaxUint32
	}
	return uint32(n)
}
