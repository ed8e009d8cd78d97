package web

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"amazonsfarm/master/book"
	"amazonsfarm/master/document"
	"amazonsfarm/master/tree/graph"
	"amazonsfarm/shared/checker"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/proof"
)

// Errors of Export.
var (
	ErrNotEmpty  = errors.New("the folder has something in it")
	ErrNoChecker = errors.New("this program was built without the checker for browsers")
)

// The files that scripts/wasm makes.
const (
	checkerName = "checker.wasm"
	starterName = "wasm_exec.js"
)

// topName is the file of the explorer, where it does not carry the whole certificate. In a folder of its own no
// certificate has that name.
const topName = "api/top.proof"

// linked returns a name that means itself in a link: "#" would end it, and "javascript:" is a program.
func linked(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".-_+, ()", r) {
			return r
		}
		return '_'
	}, name)
}

// Site says what Export writes.
type Site struct {
	Certificate *proof.Certificate
	Name        string // of the certificate's file in the site, but for characters that mean something in a link
	Checker     fs.FS  // a folder that scripts/wasm made; nil: what the program was built with
	// Positions is how many positions of the proof the explorer carries; the certificate has all of them.
	Positions int
}

// Exported is the document of an exported site.
type Exported struct {
	document.Status
	Cut int `json:"cut_arrows,omitempty"` // the explorer has no position with more arrows; 0: it has all
}

// policy is the content policy of an exported site: as strict as that of a master, but that it lets
// WebAssembly run, in a worker. A file server sends none, so the pages carry it.
const policy = `<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' ` +
	`'wasm-unsafe-eval'; style-src 'self'; img-src 'self'; connect-src 'self'; worker-src 'self'; base-uri 'none'; ` +
	`form-action 'none'">`

// Export writes the pages of a proof into a new or empty folder, for any file server. It has the
// certificate checked first: a site never shows what does not hold. Errors wrap ErrNotEmpty,
// ErrNoChecker, or are those of the checker and of writing.
// A missing checker and a full folder are refused before anything is written. The certificate is checked
// as the file in the site, so visitors load the very bytes that were checked.
func Export(ctx context.Context, folder string, site Site) (Exported, error) {
	if site.Checker == nil && builtIn == nil {
		return Exported{}, ErrNoChecker
	}
	in, err := openChecker(site.Checker, checkerName)
	if err != nil {
		return Exported{}, err
	}
	in.Close()
	site.Name = linked(site.Name)
	if list, err := os.ReadDir(folder); err == nil && len(list) > 0 {
		return Exported{}, fmt.Errorf("%s: %w", folder, ErrNotEmpty)
	}
	if err := os.MkdirAll(filepath.Join(folder, "api"), 0o755); err != nil {
		return Exported{}, err
	}
	file := filepath.Join(folder, site.Name)
	if err := proof.WriteFile(file, *site.Certificate); err != nil {
		return Exported{}, err
	}
	report, err := checker.CheckFile(ctx, file, checker.Options{})
	if err != nil { // a site must not have it, and the folder is empty as before
		return Exported{}, errors.Join(err, os.Remove(file), os.Remove(filepath.Join(folder, "api")))
	}
	about := exported(site, report)
	carried := site.Certificate
	if carried.Set.Len() > site.Positions {
		carried, about.Cut = cut(carried, site.Positions)
		if err := proof.WriteFile(filepath.Join(folder, topName), *carried); err != nil {
			return about, err
		}
	}
	for name, doc := range map[string]any{"status": about, "work": book.OfCertificate(carried)} {
		text, err := json.Marshal(doc)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "api", name+".json"), append(text, '\n'), 0o644)
		}
		if err != nil {
			return about, err
		}
	}
	return about, errors.Join(writePages(folder), writeChecker(folder, site.Checker))
}

// exported says of a checked certificate what a master says of a settled campaign.
func exported(site Site, r *checker.Report) Exported {
	c := site.Certificate
	root := c.Roots[0].Position(c.Board)
	s := document.Status{MessageType: "status", Campaign: c.Board.String(), Board: c.Board.String(),
		Root: root.String(), State: "settled", Why: "The certificate was checked when this site was made.",
		Verified: true, Winner: cli.WinnerName(root, c.Roots[0].Claim),
		Certificate: &cli.Certificate{Positions: uint64(r.Entries), Bytes: r.Bytes, SHA256: r.SHA256, File: site.Name}}
	s.Phi, s.Delta = graph.NumbersOf(c.Roots[0].Claim)
	for m := range root.State().AllMoves() {
		s.FirstMoves = append(s.FirstMoves, document.FirstMove{Move: m.String(), Verdict: "open", Phi: 1, Delta: 1})
	}
	s.MovesAll = len(s.FirstMoves)
	(&opened{cert: c}).tell(root, &s)
	return Exported{Status: s}
}

// cut returns the part of a certificate with the fewest arrows, of at most so many positions but for the
// first layer, and the most arrows in it.
// It takes whole layers, the fewest arrows first, so the explorer can tell a position beyond its end
// from one that the proof does not need.
func cut(c *proof.Certificate, most int) (top *proof.Certificate, arrows int) {
	top = &proof.Certificate{Board: c.Board, Leaves: c.Leaves, Roots: c.Roots, Set: new(proof.Set)}
	for layer := range c.Board.Squares() {
		n := c.Set.LayerLen(layer)
		if n > 0 && top.Set.Len() > 0 && top.Set.Len()+n > most {
			break
		}
		for _, e := range c.Set.Sorted(layer) {
			top.Set.Add(e)
		}
		arrows = layer
	}
	return top, arrows
}

// writePages writes the pages with what makes them answer by themselves.
func writePages(folder string) error {
	list, err := fs.ReadDir(static, "static")
	if err != nil {
		return err
	}
	for _, f := range list {
		data, err := static.ReadFile("static/" + f.Name())
		if err != nil {
			return err
		}
		text := string(data)
		if strings.HasSuffix(f.Name(), ".html") {
			// These are exact texts of the pages in static. A page in which one of them is written in
			// another way would go out without what replaces it.
			text = strings.Replace(text, "<title>", policy+"\n<title>", 1)
			text = strings.Replace(text, `<script src="common.js"`, `<script src="site.js" defer></script>`+"\n"+
				`<script src="common.js"`, 1)
			text = strings.ReplaceAll(text, `href="./"`, `href="index.html"`)
		}
		if err := os.WriteFile(filepath.Join(folder, f.Name()), []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// writeChecker writes the program for browsers: that of a folder, or what this program was built with.
func writeChecker(folder string, from fs.FS) error {
	for _, name := range []string{checkerName, starterName} {
		in, err := openChecker(from, name)
		if err != nil {
			return err
		}
		data, err := io.ReadAll(in)
		in.Close()
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, name), data, 0o644)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// openChecker opens a file of the program for browsers. Built in, it is compressed.
func openChecker(from fs.FS, name string) (io.ReadCloser, error) {
	if from != nil {
		return from.Open(name)
	}
	in, err := builtIn.Open("wasm/built/" + name + ".gz")
	if err != nil {
		return nil, err
	}
	return gzip.NewReader(in)
}
