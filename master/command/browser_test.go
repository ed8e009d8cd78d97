package command

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
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

// serveCampaign runs "master serve" for 6x4 until the test ends, and returns the addresses of the
// pages and for workers, and what ends the campaign earlier.
func serveCampaign(t *testing.T) (pages, workers string, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	end = func() {
		cancel()
		all.Wait()
	}
	t.Cleanup(end)
	said, says := io.Pipe()
	file := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(file, []byte("split-after: 4000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := serveCommand()
	c.SetArgs([]string{"--board", "6x4", "--store", filepath.Join(t.TempDir(), "6x4.db"), "--listen", "127.0.0.1:0",
		"--http", "127.0.0.1:0",
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
	return pages, workers, end
}

// work runs two workers of a core each until the test ends.
func work(t *testing.T, master string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	t.Cleanup(func() {
		cancel()
		all.Wait()
	})
	for _, name := range []string{"amber", "birch"} {
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

// TestPagesInBrowser looks at the pages of a running campaign with Chromium, as a reader would, at
// a desk and with a phone. Its pictures are artefacts: go test -artifacts keeps them.
func TestPagesInBrowser(t *testing.T) {
	b := openBrowser(t)
	address, master, end := serveCampaign(t)
	b.screen(1280, 900, false)
	b.scheme("light")

	// It loads while the campaign runs, and goes on without being loaded again: all that comes from
	// here on, it is told.
	b.open(address)
	b.await("the state", `document.getElementById('state').textContent === 'running'`)
	b.await("that nobody is there", `!document.getElementById('nobody').hidden && `+
		`document.getElementById('why').textContent.includes('no worker')`)
	b.await("the first tiles", `document.querySelectorAll('#moves .tile').length === 24`)
	b.await("pictures of boards", `[...document.images].every(i => i.loading === 'lazy' || i.complete && `+
		`i.naturalWidth > 0)`)
	b.text(`(window.neverReloaded = true)`)
	work(t, master)
	b.await("two workers", `document.querySelectorAll('#workers tr').length === 2`)
	b.await("a job", `document.querySelectorAll('#jobs tr').length > 0`)
	b.await("a fact", `document.querySelectorAll('#facts tr').length > 0`)
	b.await("a decided move", `document.querySelectorAll('#counts .loses').length > 0`)
	b.await("two curves", `document.querySelectorAll('#curve polyline').length === 2 && `+
		`document.querySelector('#curve polyline').getAttribute('points').split(' ').length > 3`)
	if b.text(`window.neverReloaded`) != "true" {
		t.Error("the page was loaded again")
	}
	b.shoot("status-desk")
	b.scheme("dark")
	b.shoot("status-desk-dark")
	b.scheme("light")
	b.click("#more-moves")
	b.await("all tiles", `document.querySelectorAll('#moves .tile').length > 100`)

	// Three plies down and back.
	b.click("#moves .tile.loses")
	ways := []string{}
	for ply := 1; ply <= 3; ply++ {
		b.await("the position after the move", fmt.Sprintf(
			`document.querySelectorAll('#way a').length === %d && document.querySelectorAll('#moves tr').length > 0`,
			ply+1))
		ways = append(ways, b.text(`document.getElementById('way').textContent`))
		if ply == 1 {
			b.await("its value and the refutation",
				`document.getElementById('figures').textContent.includes('won for the side to move') && `+
					`document.getElementById('figures').textContent.includes('refutation')`)
			b.shoot("explore-desk")
		}
		if ply < 3 {
			b.click("#moves a")
		}
	}
	b.shoot("explore-desk-deep")
	for ply := 2; ply >= 1; ply-- {
		b.call("POST", "/back", struct{}{}, nil)
		b.await("the position before", `document.getElementById('way').textContent === '`+ways[ply-1]+`'`)
	}
	b.call("POST", "/back", struct{}{}, nil)
	b.await("the status again", `document.getElementById('state') && `+
		`document.getElementById('state').textContent !== ''`)
	b.explore(address)
	b.phone(address)
	if said := b.console(); len(said) > 0 {
		t.Errorf("the console says %q", said)
	}

	// It says so when the master is gone.
	b.open(address)
	b.await("the state", `document.getElementById('state').textContent !== ''`)
	end()
	b.await("that the master does not answer", `!document.getElementById('trouble').hidden && `+
		`document.getElementById('trouble').textContent.includes('does not answer')`)
	b.shoot("status-phone-away")
}

// explore uses the explorer by keyboard, by taps on the board, and by its links.
func (b *browser) explore(address string) {
	b.t.Helper()
	b.open(address + "/explore")
	b.await("the moves", `document.querySelectorAll('#moves tr').length > 0`)
	// From link to link with the keyboard, until one leads down; what has the keyboard can be seen.
	for range 12 {
		b.press("tab")
		if b.text(`getComputedStyle(document.activeElement).outlineStyle`) == "none" {
			b.t.Errorf("with the keyboard on %s nothing shows it", b.text(`document.activeElement.outerHTML`))
		}
		if b.text(`document.activeElement.closest('#moves') !== null`) == "true" {
			break
		}
	}
	b.press("enter")
	b.await("the position after a move chosen by keyboard", `document.querySelectorAll('#way a').length === 2`)

	// A move by three taps: from, to, arrow.
	b.open(address + "/explore#root")
	b.await("the root", `document.querySelectorAll('#way a').length === 1 && `+
		`document.querySelectorAll('#moves tr').length > 0`)
	move := b.text(`document.querySelector('#moves a').textContent`)
	for _, square := range strings.FieldsFunc(move, func(r rune) bool { return r == '-' || r == 'x' }) {
		b.text(`document.getElementById('picture').scrollIntoView()`)
		at := func(part string) int {
			n, err := strconv.ParseFloat(b.text(part), 64)
			if err != nil {
				b.t.Fatal(err)
			}
			return int(n)
		}
		// The picture of 6x4 has squares of 48, 24 left of the board and 6 above it.
		picture := `document.getElementById('picture').getBoundingClientRect()`
		scale := picture + `.width / (24 + 48 * 6 + 6)`
		b.tap(at(fmt.Sprintf("%s.left + (24 + 48 * %d.5) * %s", picture, square[0]-'A', scale)),
			at(fmt.Sprintf("%s.top + (6 + 48 * %d.5) * %s", picture, '4'-square[1], scale)))
	}
	b.await("the position after the "+
		"tapped move", `document.querySelectorAll('#way a').length === 2 && `+
		`document.getElementById('way').textContent.includes('`+move+`')`)

	// Its link leads to the same position; SVG and JSON are what they say.
	position := b.text(`document.getElementById('picture').alt`)
	json, svg := b.text(`document.getElementById('json').href`), b.text(`document.getElementById('svg').href`)
	b.click("#link")
	b.await("the linked position", `location.search.includes('moves=') && `+
		`document.getElementById('picture').alt === '`+
		position+`'`)
	for address, want := range map[string]string{json: position, svg: "<svg"} {
		answer, err := http.Get(address)
		if err != nil {
			b.t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		answer.Body.Close()
		if err != nil || !strings.Contains(string(body), want) {
			b.t.Errorf("%s is %.100q, %v", address, body, err)
		}
	}
}

// phone looks at both pages on the screen of a phone: nothing is wider than it.
func (b *browser) phone(address string) {
	b.t.Helper()
	for _, width := range []int{320, 390} {
		b.screen(width, 800, true)
		for _, page := range []struct{ name, path, ready string }{
			{"status-phone", "", `document.querySelectorAll("#curve polyline").length === 2 && ` +
				`document.querySelectorAll('#moves .tile').length > 0 && ` +
				`document.querySelectorAll('#facts tr').length > 0`},
			{"explore-phone", "/explore?moves=B1-B2xB1", `document.querySelectorAll('#moves tr').length > 0`},
		} {
			b.open(address + page.path)
			b.await("the page "+page.name, page.ready)
			b.shoot(page.name)
			if wide := b.text(`document.documentElement.scrollWidth`); wide != strconv.Itoa(width) {
				b.t.Errorf("%s on a screen of %d pixels is %s wide", page.name, width, wide)
			}
		}
	}
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
	files, err := identity.OpenMaster(folder)
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
	config.Gatherer, config.Campaign, config.Commands = prometheus.NewRegistry(), campaign, f.Loop
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
