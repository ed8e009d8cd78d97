package command

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// browser is Chromium without a window, led through chromedriver by the WebDriver protocol (W3C).
// Every method ends the test where the browser does not do what is asked.
type browser struct {
	t       *testing.T
	session string // address of its session
}

// browserPatience is how long a page may take for what a test waits for: a machine of a test may be
// busy.
const browserPatience = 90 * time.Second

// openBrowser starts a browser with an empty profile, which ends with the test. Where there is none
// the test is skipped, unless AMAZONS_TEST_BROWSER=required; with AMAZONS_TEST_BROWSER=later it is skipped because
// scripts/browser comes afterwards.
func openBrowser(t *testing.T) *browser {
	t.Helper()
	if os.Getenv("AMAZONS_TEST_BROWSER") == "later" {
		t.Skip("scripts/browser comes later")
	}
	var programs [2]string
	for i, name := range []string{"chromium", "chromedriver"} {
		path, err := exec.LookPath(name)
		if err != nil && os.Getenv("AMAZONS_TEST_BROWSER") == "required" {
			t.Fatalf("there is no %s on this machine (Debian: apt-get install chromium chromium-driver)", name)
		} else if err != nil {
			t.Skipf("NOT CHECKED: the pages in a browser; there is no %s on this machine (Debian: apt-get install "+
				"chromium chromium-driver)", name)
		}
		programs[i] = path
	}
	driver := exec.Command(programs[1], "--port=0")
	said, err := driver.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := driver.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = driver.Process.Kill()
		_ = driver.Wait()
	})
	lines := bufio.NewScanner(said)
	port := ""
	for port == "" && lines.Scan() {
		if _, after, ok := strings.Cut(lines.Text(), "started successfully on port "); ok {
			port = strings.TrimSuffix(strings.TrimSpace(after), ".")
		}
	}
	if port == "" {
		t.Fatal("chromedriver does not say where it listens")
	}
	go io.Copy(io.Discard, said) // until it ends
	b := &browser{t: t, session: "http://127.0.0.1:" + port + "/session"}
	var opened struct{ SessionID string }
	b.call("POST", "", map[string]any{"capabilities": map[string]any{"alwaysMatch": map[string]any{
		"browserName":         "chrome",
		"acceptInsecureCerts": true, // the authority of a test is nobody's
		"goog:loggingPrefs":   map[string]any{"browser": "ALL"},
		"goog:chromeOptions": map[string]any{"binary": programs[0], "args": []string{"--headless", "--no-sandbox",
			"--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
			"--disable-background-networking", "--disable-component-update", "--disable-sync", "--user-data-dir=" +
				t.TempDir()}},
	}}}, &opened)
	b.session += "/" + opened.SessionID
	t.Cleanup(func() { b.call("DELETE", "", nil, nil) })
	return b
}

// call sends a command (with POST, a body) and reads the value of the answer into out, unless out
// is nil.
func (b *browser) call(method, path string, body, out any) {
	b.t.Helper()
	var sent io.Reader
	if method == "POST" {
		data, err := json.Marshal(body)
		if err != nil {
			b.t.Fatal(err)
		}
		sent = bytes.NewReader(data)
	}
	request, err := http.NewRequest(method, b.session+path, sent)
	if err != nil {
		b.t.Fatal(err)
	}
	answer, err := (&http.Client{Timeout: 2 * browserPatience}).Do(request)
	if err != nil {
		b.t.Fatalf("browser: %s %s: %v", method, path, err)
	}
	defer answer.Body.Close()
	var said struct{ Value json.RawMessage }
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		b.t.Fatalf("browser: %s %s: %v", method, path, err)
	}
	if answer.StatusCode != http.StatusOK {
		b.t.Fatalf("browser: %s %s: %.600s", method, path, said.Value)
	}
	if out == nil {
		return
	}
	if err := json.Unmarshal(said.Value, out); err != nil {
		b.t.Fatalf("browser: %s %s: %v in %.200s", method, path, err, said.Value)
	}
}

// open goes to an address.
func (b *browser) open(address string) {
	b.t.Helper()
	b.call("POST", "/url", map[string]any{"url": address}, nil)
}

// text returns what an expression of JavaScript is in the page, as text.
func (b *browser) text(expression string) string {
	b.t.Helper()
	var out any
	b.call("POST", "/execute/sync", map[string]any{"script": "return (" + expression + ")", "args": []any{}}, &out)
	return fmt.Sprint(out)
}

// await waits until an expression is true in the page.
func (b *browser) await(what, expression string) {
	b.t.Helper()
	for begin := time.Now(); time.Since(begin) < browserPatience; time.Sleep(50 * time.Millisecond) {
		if b.text(expression) == "true" {
			return
		}
	}
	b.shoot("failed")
	b.t.Fatalf("%s: not within %v; the page at %s begins %.500q", what, browserPatience, b.text("location.href"),
		b.text("document.body.innerText"))
}

// find returns the path of the first element that a selector of CSS names.
func (b *browser) find(selector string) string {
	b.t.Helper()
	var element map[string]string
	b.call("POST", "/element", map[string]any{"using": "css selector", "value": selector}, &element)
	for _, id := range element {
		return "/element/" + id
	}
	return ""
}

// click clicks on the middle of an element, as a person would: it fails where something else lies
// above it.
func (b *browser) click(selector string) {
	b.t.Helper()
	b.call("POST", b.find(selector)+"/click", struct{}{}, nil)
}

// tap clicks at a point of the window.
func (b *browser) tap(x, y int) {
	b.t.Helper()
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{"type": "pointer", "id": "mouse",
		"actions": []any{
			map[string]any{"type": "pointerMove", "duration": 0, "x": x, "y": y},
			map[string]any{"type": "pointerDown", "button": 0},
			map[string]any{"type": "pointerUp", "button": 0},
		}}}}, nil)
}

// press presses a key; the names are those of WebDriver, section 17.4.2, such as tab and enter.
func (b *browser) press(key string) {
	b.t.Helper()
	code, ok := map[string]string{"tab": "\ue004", "enter": "\ue007", "home": "\ue011", "left": "\ue012",
		"up": "\ue013", "right": "\ue014", "down": "\ue015", "escape": "\ue00c"}[key]
	if len(key) == 1 {
		code = key
	} else if !ok {
		b.t.Fatalf("no key %s", key)
	}
	b.call("POST", "/actions", map[string]any{"actions": []any{map[string]any{"type": "key", "id": "keys",
		"actions": []any{
			map[string]any{"type": "keyDown", "value": code}, map[string]any{"type": "keyUp", "value": code},
		}}}}, nil)
}

// devtools sends a command of the DevTools protocol, for what WebDriver has none.
func (b *browser) devtools(command string, parameters, out any) {
	b.t.Helper()
	b.call("POST", "/goog/cdp/execute", map[string]any{"cmd": command, "params": parameters}, out)
}

// screen sets the size of the window in CSS pixels; phone: with touch, and two device pixels for each.
func (b *browser) screen(width, height int, phone bool) {
	b.t.Helper()
	scale := 1
	if phone {
		scale = 2
	}
	b.devtools("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height,
		"deviceScaleFactor": scale, "mobile": phone}, nil)
}

// scheme makes the page light or dark, as a setting of the reader would.
func (b *browser) scheme(name string) {
	b.t.Helper()
	b.devtools("Emulation.setEmulatedMedia", map[string]any{"features": []any{
		map[string]any{"name": "prefers-color-scheme", "value": name}}}, nil)
}

// shoot keeps a picture of the page, three quarters as large as it is, among the artefacts of the test.
func (b *browser) shoot(name string) {
	b.t.Helper()
	var picture struct{ Data string }
	var size [2]int
	if err := json.Unmarshal([]byte(b.text(`JSON.stringify([document.documentElement.scrollWidth, `+
		`Math.min(2200, document.documentElement.scrollHeight)])`)), &size); err != nil {
		b.t.Fatal(err)
	}
	b.devtools("Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true,
		"clip": map[string]any{"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 0.75}}, &picture)
	full, err := png.Decode(base64.NewDecoder(base64.StdEncoding, strings.NewReader(picture.Data)))
	if err != nil {
		b.t.Fatal(err)
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, fewColours(full)); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(b.t.ArtifactDir(), name+".png"), out.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fewColours returns a picture with the 256 colours that are most frequent in it, which makes it a
// quarter as large as a file.
func fewColours(full image.Image) image.Image {
	count := map[color.RGBA]int{}
	area := full.Bounds()
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			r, g, b, _ := full.At(x, y).RGBA()
			count[color.RGBA{uint8(r >> 8 &^ 3), uint8(g >> 8 &^ 3), uint8(b >> 8 &^ 3), 255}]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(count), func(a, b color.RGBA) int { return count[b] - count[a] })
	var palette color.Palette
	for _, c := range colours[:min(256, len(colours))] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(area, palette)
	nearest := map[color.Color]uint8{}
	for y := area.Min.Y; y < area.Max.Y; y++ {
		for x := area.Min.X; x < area.Max.X; x++ {
			c := full.At(x, y)
			i, ok := nearest[c]
			if !ok {
				i = uint8(palette.Index(c))
				nearest[c] = i
			}
			few.SetColorIndex(x, y, i)
		}
	}
	return few
}

// console returns what the console says since the last call: errors and warnings of scripts, of the
// policy of the page, of what could not be loaded.
func (b *browser) console() []string {
	b.t.Helper()
	var entries []struct{ Level, Message string }
	b.call("POST", "/se/log", map[string]any{"type": "browser"}, &entries)
	var list []string
	for _, e := range entries {
		list = append(list, e.Level+" "+e.Message)
	}
	return list
}
