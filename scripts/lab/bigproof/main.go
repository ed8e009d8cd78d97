// Command bigproof makes a very large proof in parts out of a small one, to test what checks it. Each
// part is written many times: a root of it stands twice, three times and so on in the header, so that
// every copy is a file of its own, with a SHA-256 of its own, which the checker has to go over like
// any other.
//
//	bigproof SMALL.proof BIG.proof POSITIONS
package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"amazonsfarm/shared/proof"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "bigproof:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 3 {
		return errors.New("give SMALL.proof, BIG.proof and the number of positions")
	}
	want, err := strconv.ParseInt(args[2], 10, 64)
	if err != nil {
		return err
	}
	m, err := proof.ReadManifest(args[0])
	if err != nil {
		return err
	}
	folder := proof.PartsFolder(args[1])
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	small := m.Parts
	m.Parts = nil
	for more := 0; want > 0; more++ {
		for _, p := range small {
			data, err := os.ReadFile(filepath.Join(proof.PartsFolder(args[0]), p.ID.Name()))
			if err != nil {
				return err
			}
			c, err := proof.Read(bytes.NewReader(data), p.Bytes)
			if err != nil {
				return err
			}
			data = repeatRoot(data, len(c.Roots), more)
			p = proof.PartOf(c, data)
			if err := os.WriteFile(filepath.Join(folder, p.ID.Name()), data, 0o600); err != nil {
				return err
			}
			m.Parts = append(m.Parts, p)
			want -= p.Positions
		}
	}
	if err := proof.WriteManifest(args[1], m); err != nil {
		return err
	}
	fmt.Printf("%s: %d parts\n", args[1], len(m.Parts))
	return nil
}

// repeatRoot puts the last root of a certificate into its header so many times more (FORMAT.md).
func repeatRoot(data []byte, roots, more int) []byte {
	le := binary.LittleEndian
	at := 48 + 20 // the first root
	if le.Uint32(data[8:]) == 2 {
		at += 8
	}
	at += 24 * roots
	data = bytes.Join([][]byte{data[:at], bytes.Repeat(data[at-24:at], more), data[at:]}, nil)
	le.PutUint32(data[12:], le.Uint32(data[12:])+uint32(24*more))
	le.PutUint32(data[52:], uint32(roots+more))
	proof.Seal(data)
	return data
}
