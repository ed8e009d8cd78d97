package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/disk"
	"amazonsfarm/shared/proof"
)

const certificateFile = "../../shared/proof/testdata/format1.amzcert" // of 4x4, which White loses

// settled is a campaign that was settled by one lease: its tree knows nothing of the first moves.
type settled struct {
	*campaign
	file, sha string
}

// newSettled is a campaign whose certificate is what the file holds now.
func newSettled(t *testing.T, file string) settled {
	t.Helper()
	_, sha, err := disk.SHA256(file)
	if err != nil {
		t.Fatal(err)
	}
	return settled{newCampaign(t), file, sha}
}

func (c settled) Status(ctx context.Context) (*farmv1.StatusResponse, error) {
	s, err := c.campaign.Status(ctx)
	s.State, s.Winner, s.CertificateFile = "settled", "second", c.file
	s.FirstMoves = []*farmv1.FirstMove{{Move: "B1-B2xB1", Phi: 1, Delta: 1}, {Move: "B1-B2xA1", Phi: 1, Delta: 1}}
	s.CertificatePositions, s.CertificateSha256 = 1, c.sha
	return s, err
}

// TestSettled: the pages of a settled campaign answer from its certificate, and hand it out.
func TestSettled(t *testing.T) {
	s := newServer(t, Config{Campaign: only(newSettled(t, certificateFile))})
	h := s.handler()
	for range 400 { // the certificate is read beside
		if first(t, s).ask(t.Context()); first(t, s).last().book != nil {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	for address, want := range map[string]string{
		"/api/status":                   `"first_moves_known":2`,
		"/api/explore":                  `"reason":"replies"`,
		"/api/explore?moves=B1-B2xB1":   `"winning_move":"`,
		"/api/play?moves=B1-B2xB1":      `"basis":"entry"`,
		"/api/play":                     `"why":"Black still wins.`,
		"/api/work":                     `"unit":"positions"`,
		"/api/certificate":              "AMZCERT",
		"/api/certificate?part=../x.db": "64 hexadecimal digits",
		"/api/certificate?part=" + strings.Repeat("a", 64): "no such certificate",
	} {
		if w := request(h, "GET", address); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.300q, want %q", address, w.Code, w.Body, want)
		}
	}
}

// TestSettledInParts: the same of a proof in parts, each of which can be had.
func TestSettledInParts(t *testing.T) {
	cert, err := proof.ReadFile(certificateFile)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "4x4.proof")
	m, err := proof.WriteParts(t.Context(), file, cert, 60)
	if err != nil || len(m.Parts) < 2 {
		t.Fatalf("%d parts, %v", len(m.Parts), err)
	}
	s := newServer(t, Config{Campaign: only(newSettled(t, file))})
	first(t, s).ask(t.Context())
	s.watches.books.reading.Wait()
	first(t, s).ask(t.Context())
	for address, want := range map[string]string{
		"/api/status":  fmt.Sprintf(`"certificate_parts":%d`, len(m.Parts)),
		"/api/explore": `"reason":"replies"`,
		"/api/certificate?part=" + m.Parts[1].ID.Name(): "AMZCERT",
	} {
		if w := request(s.handler(), "GET", address); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.300q, want %q", address, w.Code, w.Body, want)
		}
	}
}

// TestReasons: the page has words for each reason of a certificate.
func TestReasons(t *testing.T) {
	page, err := static.ReadFile("static/explore.js")
	if err != nil {
		t.Fatal(err)
	}
	for r := proof.ByEntry; r < proof.ByCitation; r++ {
		word := regexp.MustCompile(`\b` + r.String() + `'?: '`)
		if !word.Match(page) {
			t.Errorf("explore.js says nothing of %q", r)
		}
	}
}

// TestDamagedCertificate: a file that was damaged meanwhile answers nothing; the campaign does.
func TestDamagedCertificate(t *testing.T) {
	file := filepath.Join(t.TempDir(), "4x4.proof")
	if err := os.WriteFile(file, []byte("AMZCERT"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newSettled(t, file)
	s := newServer(t, Config{Campaign: only(c)})
	first(t, s).ask(t.Context())
	s.watches.books.reading.Wait()
	first(t, s).ask(t.Context())
	w := request(s.handler(), "GET", "/api/explore")
	if !strings.Contains(w.Body.String(), `"proof_number"`) || c.looked == 0 {
		t.Errorf("%d %.200q after %d calls", w.Code, w.Body, c.looked)
	}
}

// TestReplacedCertificate: another file at the path of a certificate answers nothing, and nobody gets it. Nor does a
// request wait for a pipe. Once the certificate is back, it is handed out again.
func TestReplacedCertificate(t *testing.T) {
	cert, err := proof.ReadFile(certificateFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(certificateFile)
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	one, parted := filepath.Join(folder, "one.proof"), filepath.Join(folder, "4x4.proof")
	if err := os.WriteFile(one, text, 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := proof.WriteParts(t.Context(), parted, cert, 60)
	if err != nil {
		t.Fatal(err)
	}
	part := filepath.Join(proof.PartsFolder(parted), m.Parts[0].ID.Name())
	c, of := newSettled(t, one), newSettled(t, parted)
	get := func(h http.Handler, address, want string) {
		t.Helper()
		if w := request(h, "GET", address); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %.200q, want %q", address, w.Code, w.Body, want)
		}
	}
	const refused = "another file lies at its path"
	manifest, err := os.ReadFile(parted)
	if err = errors.Join(err, os.WriteFile(one, manifest, 0o600),
		os.Rename(proof.PartsFolder(parted), proof.PartsFolder(one))); err != nil {
		t.Fatal(err)
	}
	s := newServer(t, Config{Campaign: only(c)})
	h := s.handler()
	first(t, s).ask(t.Context())
	s.watches.books.reading.Wait()
	first(t, s).ask(t.Context())
	get(h, "/api/certificate", refused)
	get(h, "/api/explore", `"proof_number"`)
	status := request(h, "GET", "/api/status").Body.String()
	if strings.Contains(status, `"certificate_parts"`) || c.looked == 0 {
		t.Errorf("%.300q after %d calls", status, c.looked)
	}
	if err := errors.Join(os.Remove(one), os.Symlink(parted, one)); err != nil {
		t.Fatal(err)
	}
	get(h, "/api/certificate", refused)
	if err := errors.Join(os.Remove(one), syscall.Mkfifo(one, 0o600)); err != nil {
		t.Fatal(err)
	}
	get(h, "/api/certificate", refused)
	if err := errors.Join(os.Remove(one), os.WriteFile(one, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	get(h, "/api/certificate", "AMZCERT")

	if err := errors.Join(os.Rename(proof.PartsFolder(one), proof.PartsFolder(parted)),
		os.WriteFile(part, text, 0o600)); err != nil {
		t.Fatal(err)
	}
	s = newServer(t, Config{Campaign: only(of)})
	first(t, s).ask(t.Context())
	get(s.handler(), "/api/certificate", "AMZLIST")
	get(s.handler(), "/api/certificate?part="+m.Parts[0].ID.Name(), refused)
}

// TestExport: a site has its certificate, its pages with their policy, and says how deep it goes.
func TestExport(t *testing.T) {
	cert, err := proof.ReadFile(certificateFile)
	if err != nil {
		t.Fatal(err)
	}
	browser := fstest.MapFS{checkerName: {Data: []byte("wasm")}, starterName: {Data: []byte("go")}}
	site := Site{Certificate: &cert, Name: "4x4.proof", Checker: browser, Positions: cert.Set.Len()}
	folder := filepath.Join(t.TempDir(), "site")
	about, err := Export(t.Context(), folder, site)
	if err != nil || about.Cut != 0 || about.Winner != "second" || about.MovesKnown != about.MovesAll {
		t.Fatalf("%+v, %v", about, err)
	}
	read := func(name string) []byte {
		data, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Error(err)
		}
		return data
	}
	for _, page := range []string{"index.html", "explore.html"} {
		text := string(read(page))
		if !strings.Contains(text, policy) || strings.Index(text, `"site.js"`) > strings.Index(text, `"common.js"`) ||
			strings.Contains(text, `href="./"`) {
			t.Errorf("%s is not that of a site", page)
		}
	}
	var told Exported
	if err := json.Unmarshal(read("api/status.json"), &told); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(read("4x4.proof"))); got != told.Certificate.SHA256 {
		t.Errorf("the site says %s, its certificate has %s", told.Certificate.SHA256, got)
	}
	if !strings.Contains(string(read("api/work.json")), `"positions"`) || string(read(checkerName)) != "wasm" {
		t.Error("the work or the checker is missing")
	}

	// Again, into the same folder; without a checker; and no deeper than a few positions.
	if _, err := Export(t.Context(), folder, site); !errors.Is(err, ErrNotEmpty) {
		t.Errorf("into a folder with something in it: %v", err)
	}
	site.Checker = nil
	if _, err := Export(t.Context(), t.TempDir(), site); builtIn == nil && !errors.Is(err, ErrNoChecker) {
		t.Errorf("without a checker: %v", err)
	}
	site.Checker, site.Positions, site.Name, folder = browser, 40, "top.proof", t.TempDir()
	about, err = Export(t.Context(), folder, site)
	if err != nil || about.Cut == 0 {
		t.Fatalf("%+v, %v", about, err)
	}
	if got := fmt.Sprintf("%x", sha256.Sum256(read("top.proof"))); got != about.Certificate.SHA256 {
		t.Errorf("the site says %s, its certificate top.proof has %s", about.Certificate.SHA256, got)
	}
	top, err := proof.ReadFile(filepath.Join(folder, "api", "top.proof"))
	if err != nil || top.Set.Len() == 0 || top.Set.Len() >= cert.Set.Len() {
		t.Errorf("the top has %d of %d positions, %v", top.Set.Len(), cert.Set.Len(), err)
	}

	// A link to the certificate means its file, whatever it was called.
	site.Name = "javascript:x#1?%41&é.proof"
	about, err = Export(t.Context(), t.TempDir(), site)
	if want := "javascript_x_1__41_é.proof"; err != nil || about.Certificate.File != want {
		t.Errorf("the certificate is called %+v, not %s, %v", about.Certificate, want, err)
	}

	// What does not hold is not shown.
	for e := range cert.Set.All() {
		part := proof.Certificate{Board: cert.Board, Leaves: cert.Leaves, Roots: cert.Roots, Set: new(proof.Set)}
		part.Set.Add(e)
		site.Certificate = &part
		break
	}
	folder = t.TempDir()
	if _, err := Export(t.Context(), folder, site); err == nil {
		t.Error("a site of a false certificate was made")
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}
