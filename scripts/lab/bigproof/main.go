// Command bigproof makes a very large proof in parts out of a small one, to test what checks it. Each
// part is written many times: a root of it stands twice, three times and so on in the header, so that
// every copy is a file of its own, with a SHA-256 of its own, which the checker has to go over like
// any other.
//
//	bigproof SMALL.proof BIG.proof POSITIONS
package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
			c.Roots = append(c.Roots, slices.Repeat(c.Roots[len(c.Roots)-1:], more)...)
			if data, err = proof.Encode(c); err != nil {
				return err
			}
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
