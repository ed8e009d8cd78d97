package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"amazonsfarm/shared/amazons"
)

// suitePosition is a position of medium difficulty and its winner.
type suitePosition struct {
	position amazons.Position
	verdict  string // won or lost, for the side to move
}

// readSuite reads positions, one a line, each with its verdict after a tab.
func readSuite(file string) ([]suitePosition, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []suitePosition
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		text, verdict, _ := strings.Cut(lines.Text(), "\t")
		p, err := amazons.ParsePosition(text)
		if err != nil {
			return nil, fmt.Errorf("read %s: line %d: %w", file, len(out)+1, err)
		}
		out = append(out, suitePosition{p, verdict})
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", file, err)
	}
	return out, nil
}
