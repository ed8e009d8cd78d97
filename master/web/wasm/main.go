//go:build js

// Command wasm is what an exported site runs in the visitor's browser: answers from the certificate, and
// the checker. Its functions hang on the object amazons; each returns JSON text, or throws nothing and
// returns {"error": why}.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"syscall/js"

	"amazonsfarm/master/book"
	"amazonsfarm/master/explore"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/proof"
)

// checkMemory bounds the tables of a check: a browser gives a program four gibibytes.
const checkMemory = 2 << 30

var (
	file []byte             // the certificate
	cert *proof.Certificate // nil: not read yet
)

func main() {
	functions := map[string]any{}
	for name, f := range map[string]func(args []js.Value) (any, error){"load": load, "explore": explored,
		"play": play, "judge": judge, "check": check} {
		functions[name] = js.FuncOf(func(_ js.Value, args []js.Value) any {
			document, err := f(args)
			if err != nil {
				document = map[string]string{"error": err.Error()}
			}
			text, err := json.Marshal(document)
			if err != nil {
				return `{"error":"the answer cannot be written"}`
			}
			return string(text)
		})
	}
	js.Global().Set("amazons", functions)
	select {} // functions are called from now on
}

// load reads the certificate: load(bytes).
func load(args []js.Value) (any, error) {
	file = make([]byte, args[0].Length())
	js.CopyBytesToGo(file, args[0])
	c, err := proof.Read(bytes.NewReader(file), int64(len(file)))
	if err == nil {
		cert = &c
	}
	return c.Set.Len(), err
}

// find returns the way to the position that an address names: find(position, moves).
func find(args []js.Value) ([]amazons.Position, error) {
	p := cert.Roots[0].Position(cert.Board)
	if text := args[0].String(); text != "" {
		var err error
		if p, err = amazons.ParsePosition(text); err != nil {
			return nil, err
		}
	}
	moves := strings.FieldsFunc(args[1].String(), func(r rune) bool { return r == ',' })
	way, _, err := explore.Follow(p, moves)
	return way, err
}

// explored tells what is proved of a position: explored(position, moves).
func explored(args []js.Value) (any, error) {
	way, err := find(args)
	if err != nil {
		return nil, err
	}
	return book.Explore(cert, way[len(way)-1]), nil
}

// play answers for the winner: play(position, moves).
func play(args []js.Value) (any, error) {
	way, err := find(args)
	if err != nil {
		return nil, err
	}
	return book.Answer(context.Background(), cert.Look, way)
}

// judge tells what the static rules see: judge(position).
func judge(args []js.Value) (any, error) {
	p, err := amazons.ParsePosition(args[0].String())
	if err != nil {
		return nil, err
	}
	return book.Judge(p), nil
}

// check runs the checker over the bytes that were loaded: check(progress), where progress takes a share.
func check(args []js.Value) (any, error) {
	return checker.Check(context.Background(), bytes.NewReader(file), int64(len(file)), checker.Options{
		MaxMemory: checkMemory,
		Progress: func(p checker.Progress) {
			args[0].Invoke(float64(p.Entries) / float64(max(1, p.TotalEntries)))
		},
	})
}
