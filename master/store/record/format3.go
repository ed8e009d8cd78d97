package record

import (
	"encoding/binary"
	"io"

	"amazonsfarm/shared/proof"
)

// OldFormat is the format before Format: certificates lay in chunks in the bucket "chunks", and in the
// bucket "uploads" were those that had not come whole.
const OldFormat = 3

// Names of the buckets that only a store of OldFormat has.
const (
	BucketUploads = "uploads"
	BucketChunks  = "chunks"
)

// ChunkBytes is the data of a chunk, but for the last one of a certificate.
const ChunkBytes = 64<<10 - 40

// DecodeOldCertificate returns the record of a certificate in a store of OldFormat. Its chunks lie
// under its number.
func DecodeOldCertificate(key, value []byte) (proof.ID, Certificate, error) {
	var id proof.ID
	size := 8 + 8
	pooled := len(value) == size+4+SumBytes
	if pooled {
		size += 4
	}
	p, err := unsealFixed(BucketCertificates, key, value, len(id), size)
	if err != nil {
		return id, Certificate{}, err
	}
	copy(id[:], key)
	c := Certificate{Number: binary.LittleEndian.Uint64(p), Size: binary.LittleEndian.Uint64(p[8:]), Pool: 1,
		Fragment: true}
	if pooled {
		c.Pool = binary.LittleEndian.Uint32(p[16:])
	}
	if c.Pool < 1 || pooled && c.Pool < 2 || c.Size > ChunkBytes<<32 {
		err = Corrupt(BucketCertificates, key, "no certificate has the pool %d and %d bytes", c.Pool, c.Size)
	}
	return id, c, err
}

// ChunkKey returns the key of a chunk of the certificate with a number.
func ChunkKey(number, index uint64) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(nil, number), uint32(index))
}

// ReadChunks reads of a certificate in a store of OldFormat, whose bucket of chunks get reads.
func ReadChunks(get func(key []byte) []byte, c Certificate, p []byte, offset int64) (n int, err error) {
	for n < len(p) {
		at := uint64(offset) + uint64(n)
		if at >= c.Size { // or offset is negative
			return n, io.EOF
		}
		key := ChunkKey(c.Number, at/ChunkBytes)
		data, err := Unseal(BucketChunks, key, get(key))
		if rest := c.Size - at/ChunkBytes*ChunkBytes; err == nil && uint64(len(data)) != min(rest, ChunkBytes) {
			err = Corrupt(BucketChunks, key, "it has %d bytes", len(data))
		}
		if err != nil {
			return n, err
		}
		n += copy(p[n:], data[at%ChunkBytes:])
	}
	return n, nil
}
