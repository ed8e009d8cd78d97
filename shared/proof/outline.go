package proof

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
)

// Outline returns the header of a part and the blocks of its citations, byte for byte: all that others
// need to know of a part, without its entries. [ReadOutline] reads it. Errors are those of [ReadCited].
func Outline(r io.ReaderAt, size int64) ([]byte, error) {
	d := decoder{in: r, size: size, sum: sha256.New(), outline: new(bytes.Buffer)}
	if _, err := d.cited(); err != nil {
		return nil, fmt.Errorf("outline of a part: %w", err)
	}
	return d.outline.Bytes(), nil
}

// ReadOutline reads what Outline has returned, as ReadCited reads the part. Bytes that are left over are
// an error.
func ReadOutline(outline []byte) (Info, []Citation, error) {
	d := decoder{in: bytes.NewReader(outline), size: int64(len(outline)), sum: sha256.New(), noEntries: true}
	c, err := d.cited()
	if err == nil && d.offset != d.size {
		err = corrupt("%d bytes are left over", d.size-d.offset)
	}
	if err != nil {
		return Info{}, nil, fmt.Errorf("read outline: %w", err)
	}
	return d.info, c.Cited, nil
}
