package endgame

import (
	"fmt"
	"io"
	"os"
	"runtime/debug"

	"amazonsfarm/shared/cgt"
)

// Check reads the whole file, compares all checksums and decodes every value. Errors wrap ErrDamaged.
func (db *DB) Check() (err error) {
	defer db.fault(debug.SetPanicOnFault(true), &err)
	f, err := os.Open(db.name)
	if err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	defer f.Close()
	err = db.checkFile(f, headerBytes, db.crcsAt())
	if err == nil {
		err = db.checkValues()
	}
	if err != nil {
		return fmt.Errorf("check database: %s: %w", db.name, err)
	}
	return nil
}

// checkFile compares the checksums of the blocks with the bytes from start to end. It reads the file
// and not the map, so that no pages become resident.
func (db *DB) checkFile(f io.ReaderAt, start, end int) error {
	// A checksum is for a whole block, so both ends move outwards to the borders of blocks. Blocks end
	// where the checksums begin.
	start -= (start - headerBytes) % blockBytes
	end = min(end+blockBytes-1-(end-headerBytes+blockBytes-1)%blockBytes, db.crcsAt())
	buf := make([]byte, 16*blockBytes)
	for from := start; from < end; from += len(buf) {
		b := buf[:min(len(buf), end-from)]
		if _, err := f.ReadAt(b, int64(from)); err != nil {
			return fmt.Errorf("%w: %w", ErrDamaged, err)
		}
		for i := 0; i < len(b); i += blockBytes {
			if err := db.compare(from+i, b[i:min(i+blockBytes, len(b))]); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkValues decodes all values, whose places Open has verified, and compares each with its negative.
// A wrong negative would give a wrong value to every placement that is looked up with its colours exchanged.
func (db *DB) checkValues() error {
	values := make([]cgt.Value, len(db.ends))
	start := uint32(0)
	for i, end := range db.ends {
		v, n, err := cgt.DecodeValue(db.values[start:end])
		if err != nil || n != int(end-start) {
			return fmt.Errorf("%w: value %d is not one", ErrDamaged, i)
		}
		values[i] = v
		start = end
	}
	for i, n := range db.negatives {
		if int(n) >= len(values) || values[i].Neg() != values[n] {
			return fmt.Errorf("%w: value %d is not the negative of value %d", ErrDamaged, n, i)
		}
	}
	return nil
}
