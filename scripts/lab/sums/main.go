// Command sums has a worker value sums of four and of eight 3x3 boards, each with one queen a side and some burnt
// squares, drawn from a seed, and says how long each takes. scripts/sums builds the worker and calls it.
//
//	sums WORKER SEED
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	sums  = 20 // of each kind
	most  = 10 * time.Millisecond
	burnt = 4 // squares of a board, at most
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "sums: %v\n", err)
		os.Exit(1)
	}
}

// board draws a 3x3 board.
func board(random *rand.Rand) string {
	squares := []byte(".........")
	for i, at := range random.Perm(len(squares))[:2+random.IntN(burnt+1)] {
		squares[at] = "WBxxxx"[i]
	}
	return string(squares[:3]) + "/" + string(squares[3:6]) + "/" + string(squares[6:])
}

func run() error {
	if len(os.Args) != 3 {
		return fmt.Errorf("give the worker's program and a seed")
	}
	seed, err := strconv.ParseUint(os.Args[2], 10, 64)
	if err != nil {
		return err
	}
	random := rand.New(rand.NewPCG(seed, 33))
	c := exec.Command(os.Args[1], "value", "-", "--json")
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		return err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	answers := bufio.NewScanner(out)
	ask := func(text string) (r struct{ Mean, Bounds, Black_first, White_first, Error string }, err error) {
		if _, err := fmt.Fprintln(in, text); err != nil {
			return r, err
		}
		if !answers.Scan() {
			return r, fmt.Errorf("the worker ended: %v", answers.Err())
		}
		err = json.Unmarshal(answers.Bytes(), &r)
		if err == nil && r.Error != "" {
			err = fmt.Errorf("%s: %s", text, r.Error)
		}
		return r, err
	}
	if _, err := ask("WB"); err != nil { // the program has started, and its databases are open
		return err
	}
	fmt.Println("| boards | ms | Black first | White first | mean | bounds | sum |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |")
	slow := 0
	for _, boards := range []int{4, 8} {
		for range sums {
			var all []string
			for range boards {
				all = append(all, board(random))
			}
			text := strings.Join(all, "+")
			began := time.Now()
			r, err := ask(text)
			if err != nil {
				return err
			}
			took := time.Since(began)
			if took > most {
				slow++
			}
			fmt.Printf("| %d | %.2f | %s | %s | %s | %s | `%s` |\n", boards, took.Seconds()*1000, r.Black_first,
				r.White_first, r.Mean, r.Bounds, text)
		}
	}
	if err := in.Close(); err != nil {
		return err
	}
	if slow > 0 {
		return fmt.Errorf("%d sums took more than %v", slow, most)
	}
	return c.Wait()
}
