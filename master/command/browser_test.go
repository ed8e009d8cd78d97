package command

import (
	"bufio"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/rpc"
	"amazonsfarm/master/web"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/identity"
	"amazonsfarm/worker/agent"
)

// serveCampaign runs "master serve" for a board until the test ends, and returns the addresses of the
// pages and for workers, the folder of the store, and what ends the campaign earlier.
func serveCampaign(t *testing.T, board, settings string) (pages, workers, folder string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	end = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(end)
	said, says := io.Pipe()
	folder = t.TempDir()
	file := filepath.Join(folder, "settings.yaml")
	if err := os.WriteFile(file, []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCommand()
	c.SetArgs([]string{"--board", board, "--store", filepath.Join(folder, "s.db"), "--listen", "127.0.0.1:0",
		"--http", "127.0.0.1:0", "--proof", filepath.Join(folder, board+".proof"),
		"--initial-budget", "1000", "--config", file, "--stay", "--log-level", "error"})
	c.SetErr(says)
	c.SetOut(io.Discard)
	all.Go(func() {
		_ = c.ExecuteContext(ctx) // the exit code of an interrupted campaign
		_ = says.Close()
	})
	lines := bufio.NewScanner(said)
	for workers == "" && lines.Scan() {
		if _, at, ok := strings.Cut(lines.Text(), "status page and metrics on "); ok {
			pages = at
		}
		if _, at, ok := strings.Cut(lines.Text(), "workers join at "); ok {
			workers = at
		}
	}
	if pages == "" || workers == "" {
		t.Fatal("the master does not say where it listens")
	}
	all.Go(func() { _, _ = io.Copy(io.Discard, said) })
	return pages, workers, folder, end
}

// work runs workers of a core each until the test ends.
func work(t *testing.T, master string, names ...string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, name := range names {
		conn, err := grpc.NewClient("passthrough:///"+
			master, append(agent.DialOptions(), grpc.WithTransportCredentials(insecure.NewCredentials()))...)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			defer conn.Close()
			_ = agent.Run(ctx, conn, agent.Config{Name: name, Cores: 1, TableBytes: 64 << 20,
				FactsEvery: 2 * time.Second, DrainTimeout: time.Second})
		})
	}
}

// quietly fails the test for whatever the console said.
func (b *browser) quietly() {
	b.t.Helper()
	if said := b.console(); len(said) > 0 {
		b.t.Errorf("the console says %q", said)
	}
}

// TestPagesInBrowser looks at the pages of a running campaign with Chromium, as a reader would, at
// a desk and with a phone. Its pictures are artefacts: go test -artifacts keeps them.
func TestPagesInBrowser(t *testing.T) {
	b := openBrowser(t)
	address, master, _, end := serveCampaign(t, "6x4", "split-after: 4000\n")
	b.screen(1280, 900, false)
	b.scheme("light")

	// It loads while the campaign runs, and goes on without being loaded again: all that comes from
	// here on, it is told.
	b.open(address)
	b.await("the state", `document.getElementById('state').textContent === 'running'`)
	b.await("that nobody is there", `!document.getElementById('nobody').hidden && `+
		`document.getElementById('why').textContent.includes('no worker')`)
	b.await("the first moves", `document.querySelectorAll('#moves .cell').length > 90`)
	b.text(`(window.neverReloaded = true)`)
	work(t, master, "amber", "birch")
	b.await("two workers", `document.querySelectorAll('#workers tr').length === 2`)
	b.await("a board that is searched", `document.querySelectorAll('#jobs .place svg').length > 0`)
	b.await("a fact", `document.querySelectorAll('#facts tr').length > 0`)
	b.await("work of replies", `document.querySelectorAll('#work .tile').length > 12`)
	b.await("a decided move", `document.querySelectorAll('#counts .loses').length > 0`)
	b.await("two curves", `document.querySelectorAll('#curve polyline').length === 2 && `+
		`document.querySelector('#curve polyline').getAttribute('points').split(' ').length > 3`)
	if b.text(`window.neverReloaded`) != "true" {
		t.Error("the page was loaded again")
	}
	b.shoot("running-desk")
	b.scheme("dark")
	b.shoot("running-desk-dark")
	b.scheme("light")

	// Three plies down and back.
	// Moves are drawn anew while they are decided, so a click of the page itself cannot miss.
	b.text(`document.querySelector("#moves .cell.loses").click()`)
	ways := []string{}
	for ply := 1; ply <= 3; ply++ {
		b.await("the position after the move", fmt.Sprintf(
			`document.querySelectorAll('#way a').length === %d && document.querySelectorAll('#moves .cell').length > 0`,
			ply+1))
		ways = append(ways, b.text(`document.getElementById('way').textContent`))
		if ply == 1 {
			b.await("its value", `document.getElementById('verdict').textContent.includes('wins')`)
		}
		if ply < 3 {
			b.text(`document.querySelector("#moves .cell").click()`)
		}
	}
	for ply := 2; ply >= 1; ply-- {
		b.call("POST", "/back", struct{}{}, nil)
		b.await("the position before", `document.getElementById('way').textContent === '`+ways[ply-1]+`'`)
	}
	b.phone("running-phone", address, `document.querySelectorAll('#work .tile').length > 0 && `+
		`document.querySelectorAll('#facts tr').length > 0`)
	b.phone("explore-open-phone", address+"/explore?moves=B1-B2xB1",
		`document.querySelectorAll('#moves .cell').length > 0`)
	b.quietly()

	// It says so when the master is gone.
	b.open(address)
	b.await("the state", `document.getElementById('state').textContent !== ''`)
	end()
	b.await("that the master does not answer", `!document.getElementById('trouble').hidden && `+
		`document.getElementById('trouble').textContent.includes('does not answer')`)
}

// TestCampaignsInBrowser: beside another campaign, the figures and boards of a campaign are its own, and
// those who have searched are named, for all campaigns, also on the page of one that is over.
func TestCampaignsInBrowser(t *testing.T) {
	b := openBrowser(t)
	address, master, _, _ := serveCampaign(t, "6x5", "")
	add := campaignCommand()
	add.SetArgs([]string{"add", "5x5", "--master", master})
	add.SetOut(io.Discard)
	if err := add.ExecuteContext(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.screen(1280, 900, false)
	b.scheme("light")
	work(t, master, "amber", "birch")
	b.open(address + "/?campaign=5x5")
	b.await("both campaigns", `document.querySelectorAll('#list tr').length === 2`)
	b.await("the verdict", `document.getElementById('verdict').textContent.startsWith('White wins with')`)
	b.await("that nobody searches it any more", `document.querySelectorAll('#jobs .place').length === 0`)
	b.await("who has searched", `document.querySelectorAll('#helpers tr').length === 2`)
	if got := b.text(`document.getElementById('figures').textContent`); strings.Contains(got, "part") {
		t.Errorf("the figures of a campaign have those of others: %q", got)
	}
	if got := b.text(`document.getElementById('master').textContent`); !strings.Contains(got, " parts, ") {
		t.Errorf("of all campaigns together the page says %q", got)
	}
	b.open(address)
	b.await("the other campaign", `document.getElementById('board').textContent === '6x5'`)
	b.await("its board alone", `[...document.querySelectorAll('#jobs .place')].some(a => a.href.includes('position='))`)
	b.quietly()
}

// TestProofInBrowser looks at a settled campaign: the verdict, the certificate, the explorer by taps and
// by keyboard, a game against the proof, positions set up and judged; then at the same proof as an
// exported site, which checks the certificate by itself.
func TestProofInBrowser(t *testing.T) {
	b := openBrowser(t)
	address, master, folder, end := serveCampaign(t, "5x5", "")
	b.screen(1280, 900, false)
	b.scheme("light")
	work(t, master, "amber") // two may find another winning move first
	b.open(address)
	b.await("the verdict", `document.getElementById('verdict').textContent.startsWith('White wins with B1-B3xD3')`)
	b.await("the winning move on the board", `document.querySelectorAll('#root .preview').length === 2`)
	b.await("the work of the proof", `document.querySelectorAll('#work .tile').length > 20 && `+
		`document.getElementById('unit').textContent.includes('positions')`)
	if got := b.text(`document.getElementById('by').textContent`); !strings.Contains(got, "this machine") {
		t.Errorf("the page says of the certificate %q", got)
	}
	b.shoot("proof-desk")
	b.certificate()
	b.explorer(address + "/explore.html")
	b.game(address + "/explore.html#play=1")
	b.judged(address + "/explore.html")
	b.scheme("dark")
	b.phone("proof-phone-dark", address, `document.querySelectorAll('#work .tile').length > 20`)
	b.phone("explore-phone-dark", address+"/explore.html?moves=B1-B3xD3",
		`document.querySelectorAll('#moves .cell').length > 0`)
	b.scheme("light")
	b.quietly()
	end()
	b.site(filepath.Join(folder, "5x5.proof"))
}

// certificate downloads the certificate as the page says and compares its hash.
func (b *browser) certificate() {
	b.t.Helper()
	answer, err := http.Get(b.text(`document.getElementById('download').href`))
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	want := b.text(`document.getElementById('sha').textContent`)
	if got := fmt.Sprintf("%x", sha256.Sum256(data)); got != want {
		b.t.Errorf("the certificate has the SHA-256 %s, the page says %s", got, want)
	}
	if got := b.text(`document.getElementById('command').textContent`); got != "amazons-check 5x5.proof" {
		b.t.Errorf("the command to check it is %q", got)
	}
}

// wayIs waits until the explorer shows the position after these moves.
func (b *browser) wayIs(moves ...string) {
	b.t.Helper()
	b.await("the position after "+strings.Join(moves, " "), `document.getElementById('way').textContent === '`+
		strings.Join(append([]string{"root"}, moves...), " › ")+`' && `+
		`document.querySelectorAll('#moves .cell').length > 0`)
}

// explorer uses the explorer by taps on the board, by keyboard alone, and by its links.
func (b *browser) explorer(address string) {
	b.t.Helper()
	b.open(address)
	b.wayIs()
	if got := b.text(`document.getElementById('picture').getBoundingClientRect().width >= 500`); got != "true" {
		b.t.Errorf("the board is narrower than 500 pixels")
	}
	if got := b.text(`document.getElementById('few').textContent`); !strings.Contains(got, "130 of 260") {
		b.t.Errorf("mirror images are not merged: %q", got)
	}
	if got := b.text(`document.querySelectorAll('#moves .unneeded').length`); got != "129" {
		b.t.Errorf("%s moves are not needed, want 129", got)
	}
	// By taps; what is possible next is marked.
	for i, square := range []string{"B1", "B3", "D3"} {
		at := func(part string) int {
			n, err := strconv.ParseFloat(b.text(part), 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return int(n)
		}
		// The picture has squares of 48, 22 left of the board and 4 above it.
		picture := `document.getElementById('picture').getBoundingClientRect()`
		scale := picture + `.width / (22 + 48 * 5 + 4)`
		b.tap(at(fmt.Sprintf("%s.left + (22 + 48 * %d.5) * %s", picture, square[0]-'A', scale)),
			at(fmt.Sprintf("%s.top + (4 + 48 * %d.5) * %s", picture, '5'-square[1], scale)))
		if i < 2 && b.text(`document.querySelectorAll('#picture .target').length > 2`) != "true" {
			b.t.Errorf("after a tap on %s no targets are marked", square)
		}
	}
	b.wayIs("B1-B3xD3")
	b.await("the last move", `document.querySelectorAll('#picture .way.last, #picture .shot.last').length === 2`)
	b.shoot("explore-desk")
	b.scheme("dark")
	b.shoot("explore-desk-dark")
	b.scheme("light")

	// By keyboard: home, a typed move, back, on, and a move on the board.
	b.text(`document.activeElement.blur()`)
	b.press("home")
	b.wayIs()
	for _, key := range "b1b3d3" {
		b.press(string(key))
	}
	b.wayIs("B1-B3xD3")
	b.text(`document.activeElement.blur()`)
	b.press("left")
	b.wayIs()
	b.press("right")
	b.wayIs("B1-B3xD3")
	b.press("home")
	b.wayIs()
	b.text(`document.querySelector('h1 a').focus()`)
	for range 8 { // from link to link, until the board has the keyboard; what has it can be seen
		b.press("tab")
		if b.text(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			b.t.Errorf("with the keyboard on %s nothing shows it",
				b.text(`document.activeElement.outerHTML.slice(0, 80)`))
		}
		if b.text(`document.activeElement.id`) == "picture" {
			break
		}
	}
	for _, key := range strings.Fields("right right enter up up enter right right enter") { // A1, B1; B3; D3
		b.press(key)
	}
	b.wayIs("B1-B3xD3")

	// Its links lead to the same position.
	position := b.text(`document.querySelector('#figures .mono').textContent`)
	json := b.text(`document.getElementById('json').href`)
	b.click("#link")
	b.await("the linked position", `location.search.includes('moves=') && `+
		`document.querySelector('#figures .mono')?.textContent === '`+position+`'`)
	answer, err := http.Get(json)
	if err != nil {
		b.t.Fatal(err)
	}
	body, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(string(body), position) {
		b.t.Errorf("%s is %.100q, %v", json, body, err)
	}
}

// game plays the losing side to the end, takes moves back, and ends it once more.
func (b *browser) game(address string) {
	b.t.Helper()
	b.open(address)
	over := `document.getElementById('verdict').textContent.includes('Black has no move left: White has won')`
	play := func() {
		b.t.Helper()
		for ply := 0; b.text(over) != "true"; ply++ {
			if ply > 25 {
				b.t.Fatalf("the game has no end: %s", b.text("location.hash"))
			}
			n := b.text(`document.querySelectorAll('#way a').length`)
			b.await("that it is the visitor's turn",
				`document.getElementById('verdict').textContent.startsWith('Black') && `+
					`document.getElementById('why').textContent.includes('win')`)
			if ply == 3 {
				b.shoot("play-desk")
			}
			b.click("#moves .cell:last-child")
			b.await("the answer of the proof", `document.querySelectorAll('#way a').length > `+n+` && (`+over+
				` || document.getElementById('verdict').textContent.startsWith('Black'))`)
		}
	}
	b.await("the proof's first move",
		`document.getElementById('why').textContent.startsWith('The proof plays B1-B3xD3.')`)
	play()
	for range 3 {
		n := b.text(`document.querySelectorAll('#way a').length`)
		b.click("#undo")
		b.await("two moves less", `document.querySelectorAll('#way a').length === `+n+` - 2`)
	}
	play()
}

// judged sets a position up by taps and by text, and has it judged.
func (b *browser) judged(address string) {
	b.t.Helper()
	b.open(address + "#moves=B1-B3xD3")
	b.wayIs("B1-B3xD3")
	b.click("#setup")
	b.await("the editor", `!document.getElementById('editor').hidden`)
	b.text(`document.getElementById('text').value = 'W.x./.xxB/x... w'`)
	b.click("#editor [type=submit]")
	b.await("the judgement", `document.getElementById('judgement').textContent.includes('loses') && `+
		`document.querySelectorAll('#areas li').length > 2 && document.querySelectorAll('#picture .area').length > 5`)
	b.shoot("judge-desk")
	if got := b.text(`document.getElementById('verdict').textContent`); !strings.Contains(got, "a position of 4x3") {
		b.t.Errorf("of a position of another board the page says %q", got)
	}
	b.quietly()
}

// site exports the proof and looks at the site through a plain file server.
func (b *browser) site(certificate string) {
	b.t.Helper()
	wasm := os.Getenv("AMAZONS_TEST_WASM")
	if wasm == "" {
		b.t.Log("NOT CHECKED: the exported site; scripts/browser builds the checker for browsers first")
		return
	}
	folder := filepath.Join(b.t.TempDir(), "site")
	c := webCommand()
	c.SetArgs([]string{"export", folder, certificate, "--wasm", wasm})
	c.SetOut(io.Discard)
	if err := c.ExecuteContext(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
	server := httptest.NewServer(http.FileServer(http.Dir(folder)))
	defer server.Close()
	b.screen(1280, 900, false)
	b.open(server.URL)
	b.await("the verdict", `document.getElementById('verdict').textContent.startsWith('White wins with B1-B3xD3')`)
	b.click("#check")
	b.await("that the browser checked it",
		`document.getElementById('result').textContent.startsWith('Checked here: white wins')`)
	b.shoot("site-desk")
	b.game(server.URL + "/explore.html#play=1")
	b.phone("site-phone", server.URL+"/explore.html?moves=B1-B3xD3",
		`document.querySelectorAll('#moves .cell').length > 0`)
	b.quietly()

	// One byte of the certificate is another: the browser says so.
	file := filepath.Join(folder, "5x5.proof")
	data, err := os.ReadFile(file)
	if err != nil {
		b.t.Fatal(err)
	}
	data[len(data)-1]++
	if err := os.WriteFile(file, data, 0o600); err != nil {
		b.t.Fatal(err)
	}
	b.open(server.URL + "/index.html")
	b.await("the page", `!document.getElementById('checking').hidden`)
	b.click("#check")
	b.await("that it does not hold", `document.getElementById('result').textContent.startsWith('It does not hold')`)
}

// phone looks at a page on the screens of phones: nothing is wider than they are.
func (b *browser) phone(name, address, ready string) {
	b.t.Helper()
	for _, width := range []int{320, 390} {
		b.screen(width, 800, true)
		b.open("about:blank")
		b.open(address)
		b.await("the page "+name, ready)
		if wide := b.text(`document.documentElement.scrollWidth`); wide != strconv.Itoa(width) {
			b.shoot(name)
			b.t.Errorf("%s on a screen of %d pixels is %s wide", name, width, wide)
		}
	}
	b.shoot(name)
	b.screen(1280, 900, false)
}

// TestOperatorInBrowser: whose connection is that of an operator finds the commands on the page,
// and they do what they say; to others the page over TLS shows none. That a certificate is what
// makes an operator is tested without a browser, which would want it in its profile.
func TestOperatorInBrowser(t *testing.T) {
	b := openBrowser(t)
	folder := filepath.Join(t.TempDir(), "certs")
	authority, err := credentials.Init(folder, credentials.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer authority.Close()
	if _, err := authority.Issue(credentials.Request{Identity: identity.Identity{Role: identity.Master,
		Name: "master"},
		Hosts: []string{"127.0.0.1"}}); err != nil {
		t.Fatal(err)
	}
	files, err := identity.Open(folder, identity.Master)
	if err != nil {
		t.Fatal(err)
	}
	root, err := amazons.ParsePosition("4x4")
	if err != nil {
		t.Fatal(err)
	}
	f, err := campaign.Open(campaign.Options{Root: root, StoreFile: filepath.Join(t.TempDir(), "s.store")})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	all.Go(func() { _ = f.Loop.Run(ctx) })
	var operator atomic.Bool
	campaign := func(name string) (web.Campaign, error) { return rpc.CampaignOf(f.Loop, name) }
	config := web.DefaultConfig()
	config.Gatherer, config.Campaign, config.Command = prometheus.NewRegistry(), campaign, f.Loop.Command
	config.Operator = func(*tls.ConnectionState) string {
		if operator.Load() {
			return "me"
		}
		return ""
	}
	site := web.New(config)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	all.Go(func() { _ = site.Serve(ctx, tls.NewListener(listener, files.PagesTLS())) })
	address := "https://" + listener.Addr().String()
	b.screen(390, 800, true)
	b.open(address)
	b.await("the page over TLS", `document.getElementById('state').textContent === 'running'`)
	if b.text(`document.getElementById('operate').hidden`) != "true" {
		t.Error("commands are shown to somebody who is no operator")
	}
	operator.Store(true)
	b.open(address)
	b.await("the commands", `!document.getElementById('operate').hidden && `+
		`document.getElementById('operator').textContent === 'me'`)
	for _, x := range []struct{ button, state string }{{"#pause", "paused"}, {"#resume", "running"}} {
		b.click(x.button)
		b.await("that it is "+x.state, `document.getElementById('state').textContent === '`+x.state+`'`)
	}
	b.shoot("operator-phone")
	if said := b.console(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}
}
