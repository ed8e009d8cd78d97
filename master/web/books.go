package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"amazonsfarm/master/book"
	"amazonsfarm/master/document"
	"amazonsfarm/master/tree/graph"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
)

const (
	// bookPositions bounds the positions of a certificate that the pages keep in memory, of some 50 bytes
	// each. Answers about larger proofs are looked up in the parts.
	bookPositions = 4 << 20
	maxBooks      = 8                // certificates kept; the pages of other campaigns look in the parts
	maxDownloads  = 4                // certificates sent at once
	downloadTime  = 10 * time.Minute // for one of them
)

// opened is a certificate that was read, or is being read.
// cert and work are set once, under books.mu. of hands it out only afterwards, so readers need no lock.
type opened struct {
	cert *proof.Certificate // nil: not yet, or it cannot be read
	work book.Work
}

// books keeps the certificates of settled campaigns.
type books struct {
	mu      sync.Mutex
	bySHA   map[string]*opened
	reading sync.WaitGroup
	hashed  sync.Map // by path: hashed
}

// hashed is what a file was when its SHA-256 was taken.
type hashed struct {
	info fs.FileInfo
	sha  string
}

// errReplaced means that another file lies at the path of a certificate.
var errReplaced = errors.New("it is another file than the certificate that was checked")

// open opens a certificate or a part, and refuses any other file that lies at its path.
// A file is read again only when it, its size or its time is another one.
func (b *books) open(file, sha string) (*os.File, error) {
	in, err := disk.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := in.Stat()
	known, _ := b.hashed.Load(file)
	h, ok := known.(hashed)
	if err == nil && (!ok || !os.SameFile(h.info, info) || h.info.Size() != info.Size() ||
		!h.info.ModTime().Equal(info.ModTime())) {
		sum := sha256.New()
		_, err = io.Copy(sum, in)
		h = hashed{info, hex.EncodeToString(sum.Sum(nil))}
	}
	if err == nil {
		b.hashed.Store(file, h)
		if h.sha == sha {
			return in, nil
		}
		err = errReplaced
	}
	in.Close()
	return nil, fmt.Errorf("%s: %w", file, err)
}

// holds returns an error where another file than a certificate lies at its path.
func (b *books) holds(file, sha string) error {
	in, err := b.open(file, sha)
	if err == nil {
		in.Close()
	}
	return err
}

// of returns the certificate of a settled campaign, nil until it is read.
// A watch calls it again and again, so it never waits: the first call begins to read. A certificate
// stays until the process ends. Where maxBooks are there, nothing is read for further campaigns.
func (b *books) of(ctx context.Context, s *farmv1.StatusResponse) *opened {
	sha := s.GetCertificateSha256()
	if sha == "" || s.GetCertificatePositions() > bookPositions {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	o := b.bySHA[sha]
	switch {
	case o == nil && len(b.bySHA) < maxBooks && ctx.Err() == nil:
		o = new(opened)
		b.bySHA[sha] = o
		b.reading.Go(func() { b.read(context.WithoutCancel(ctx), o, s.GetCertificateFile(), sha) })
		return nil
	case o == nil || o.cert == nil:
		return nil
	}
	return o
}

// read reads a certificate, which may be a manifest with its parts.
func (b *books) read(ctx context.Context, o *opened, file, sha string) {
	cert, err := proof.ReadWhole(ctx, file, bookPositions)
	if err == nil {
		err = b.holds(file, sha)
	}
	if err != nil {
		// It stays in bySHA without a certificate, or it would be read again after each answer of the
		// campaign.
		return // the pages look in the parts, as for a large proof
	}
	work := book.OfCertificate(&cert)
	b.mu.Lock()
	defer b.mu.Unlock()
	o.cert, o.work = &cert, work
}

// tell fills in what a certificate says of first moves that the tree has never looked at.
func (o *opened) tell(root amazons.Position, s *document.Status) {
	for i := range s.FirstMoves {
		f := &s.FirstMoves[i]
		if f.Verdict != "open" {
			continue
		}
		m, err := root.ParseMove(f.Move)
		if err != nil {
			continue
		}
		if v := o.cert.Look(root.State().After(m)).Verdict; v != eval.Open {
			f.Verdict = eval.MoveWord(v)
			f.Phi, f.Delta = graph.NumbersOf(v)
			s.MovesKnown++
		}
	}
}

// book returns the certificate of the campaign that an address names, nil where there is none in memory.
func (s *Server) book(q url.Values) *proof.Certificate {
	one, err := s.watches.add(q.Get("campaign"))
	if err != nil {
		return nil
	}
	if o := one.last().book; o != nil {
		return o.cert
	}
	return nil
}

// play answers with the winner's move in a position.
func (s *Server) play(ctx context.Context, at place) (answer any, err error) {
	var look book.Look
	if cert := s.book(at.query); cert != nil {
		look = cert.Look
	} else if look, err = asked(ctx, at); err != nil {
		return nil, err
	}
	err = s.think(ctx, func() { answer, err = book.Answer(ctx, look, at.way) })
	return answer, err
}

// think searches for one page at a time, so that readers never take more than one core from the farm.
func (s *Server) think(ctx context.Context, search func()) error {
	if s.thinks.Acquire(ctx, 1) != nil {
		return fmt.Errorf("too many positions are thought about; %w", errBusy)
	}
	defer s.thinks.Release(1)
	search()
	return nil
}

// asked looks a position up in the tree and the parts of its campaign.
// It asks once and for the last position of the way alone. The Look that it returns says the same of any
// position, which is enough for book.Answer.
func asked(ctx context.Context, at place) (book.Look, error) {
	answer, err := at.campaign.Explore(ctx, at.way)
	if err != nil {
		return nil, err
	}
	var f proof.Finding
	f.Verdict, _ = farmv1.ReadVerdict(answer.GetKnown().GetVerdict())
	if line := answer.GetLine(); f.Verdict == eval.Won && len(line) > 0 {
		if f.Move, err = at.position().ParseMove(line[0]); err != nil {
			return nil, err
		}
	}
	return func(amazons.State) proof.Finding { return f }, nil
}

// anyPosition reads the position, of any board, that a request is about.
func anyPosition(r *http.Request) (p amazons.Position, err error) {
	q, err := arguments(r, "position")
	if err != nil {
		return p, err
	}
	if p, err = amazons.ParsePosition(q.Get("position")); err != nil {
		err = errInput{err}
	}
	return p, err
}

// judge answers with what the static rules see in a position.
func (s *Server) judge(ctx context.Context, p amazons.Position) (answer any, err error) {
	err = s.think(ctx, func() { answer = book.Judge(p) })
	return answer, err
}

// judged returns a handler. find reads what a request is about, and answer answers it. The handler
// lets in as many requests as Server.explores allows, and gives each askPatience.
func judged[T any](s *Server, find func(*http.Request) (T, error),
	answer func(context.Context, T) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), askPatience)
		defer cancel()
		at, err := find(r)
		if err == nil && s.explores.Wait(ctx) != nil {
			err = fmt.Errorf("too many positions are asked for; %w", errBusy)
		}
		var said any
		if err == nil {
			said, err = answer(ctx, at)
		}
		if err != nil {
			fail(w, err)
			return
		}
		s.writeJSON(w, said)
	}
}

// partName is the name of a part: its SHA-256. Anything else, such as a name with dots and slashes,
// could lead out of the folder of the parts.
var partName = regexp.MustCompile(`^[0-9a-f]{64}$`)

// certificate sends the certificate of a settled campaign, or the manifest of a proof in parts, or one of
// these parts.
func (s *Server) certificate(w http.ResponseWriter, r *http.Request, watch *watch) {
	seen := watch.last()
	file, name := seen.file, filepath.Base(seen.file)
	sha := ""
	if c := seen.status.Certificate; c != nil {
		sha = c.SHA256
	}
	if part := r.URL.Query().Get("part"); part != "" && file != "" {
		if !partName.MatchString(part) {
			fail(w, errInput{fmt.Errorf("part %.80q: a part is named by 64 hexadecimal digits", part)})
			return
		}
		file, name, sha = filepath.Join(proof.PartsFolder(file), part), part, part
	}
	if !s.downloads.TryAcquire(1) {
		refuse(w, http.StatusServiceUnavailable, "too many certificates are being sent; try again")
		return
	}
	defer s.downloads.Release(1)
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(downloadTime)) // a test's recorder has none
	in, err := s.watches.books.open(file, sha)
	switch {
	case errors.Is(err, errReplaced) || errors.Is(err, disk.ErrIrregular):
		refuse(w, http.StatusNotFound, "there is no such certificate: another file lies at its path")
		return
	case err != nil:
		refuse(w, http.StatusNotFound, "there is no such certificate: "+
			"the campaign is not settled, or its file was moved")
		return
	}
	defer in.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", name))
	http.ServeContent(w, r, "", time.Time{}, in)
}
