package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
)

// ID names a certificate by the SHA-256 of its bytes. The zero ID names none.
type ID [sha256.Size]byte

// IDOf returns the ID of the certificate with these bytes.
func IDOf(data []byte) ID { return sha256.Sum256(data) }

// String returns the first eight hexadecimal digits.
func (id ID) String() string { return hex.EncodeToString(id[:4]) }

// Arrows returns the number of burnt squares of a position.
func Arrows(k amazons.Key) int { return layerOf(k) }

// MarshalJSON writes the whole name.
func (id ID) MarshalJSON() ([]byte, error) { return json.Marshal(id.Name()) }

// UnmarshalJSON undoes MarshalJSON.
func (id *ID) UnmarshalJSON(text []byte) error {
	var name string
	err := json.Unmarshal(text, &name)
	var ok bool
	if *id, ok = ParseID(name); err == nil && !ok {
		err = fmt.Errorf("%q is not the name of a certificate", name)
	}
	return err
}

// Fact says who wins a position. A worker's search makes facts without a certificate; the master
// and its store only keep facts that name one. Field names in JSON are those of the store's records.
type Fact struct {
	Key         amazons.Key  `json:"key"`         // canonical
	Verdict     eval.Verdict `json:"outcome"`     // Won or Lost, for the side to move
	Nodes       uint64       `json:"work"`        // searched for it; facts with more nodes behind them travel first
	Certificate ID           `json:"certificate"` // of the part that proves it; zero: not made yet
}
