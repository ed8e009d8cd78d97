package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// bucket is so much of an S3 server as a farm needs. It fails in ways that are drawn.
type bucket struct {
	mu      sync.Mutex
	random  *rand.Rand
	objects map[string][]byte
	oneIn   int // requests that fail; 0: none
	faults  map[string]int
	lasting map[string]string // fault of an object that is not as it was acknowledged
}

// bucketFaults are the ways in which a request fails, each with the only method that fails so; empty: all do.
var bucketFaults = []struct{ name, method string }{
	{"slow", ""}, {"full", http.MethodPut}, {"cut off", ""}, {"loses", http.MethodPut},
	{"truncates", http.MethodGet}, {"other bytes", http.MethodGet}, {"another part", http.MethodGet},
	{"missing", http.MethodGet}, {"error 500", ""},
}

// draw chooses how a request fails, "" if it does not.
func (b *bucket) draw(method string) string {
	if b.oneIn == 0 || b.random.IntN(b.oneIn) > 0 {
		return ""
	}
	for {
		if f := bucketFaults[b.random.IntN(len(bucketFaults))]; f.method == "" || f.method == method {
			b.faults[f.name]++
			return f.name
		}
	}
}

func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	_, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	b.mu.Lock()
	fault := ""
	if key != "" && !strings.HasPrefix(path.Base(key), "probe") { // else the master starts, and tries the bucket
		fault = b.draw(r.Method)
	}
	if fault == "slow" {
		pause := time.Duration(b.random.IntN(3000)) * time.Millisecond
		b.mu.Unlock()
		time.Sleep(pause)
		b.mu.Lock()
	}
	defer b.mu.Unlock()
	data, there := b.objects[key]
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	switch fault {
	case "full":
		fail(http.StatusInsufficientStorage, "QuotaExceeded")
		return
	case "error 500":
		fail(http.StatusInternalServerError, "InternalError")
		return
	case "cut off":
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nxxx")
			}
			conn.Close()
		}
		return
	case "loses":
		b.lasting[path.Base(key)] = fault
		return // acknowledged
	case "missing":
		if there {
			b.lasting[path.Base(key)] = fault
		}
		delete(b.objects, key)
		fail(http.StatusNotFound, "NoSuchKey")
		return
	case "truncates", "other bytes", "another part":
		if there && len(data) > 0 {
			data = slices.Clone(data)
			switch fault {
			case "truncates":
				data = data[:b.random.IntN(len(data))]
			case "other bytes":
				data[b.random.IntN(len(data))] ^= 1 << b.random.IntN(8)
			default:
				all := slices.Sorted(maps.Keys(b.objects))
				data = b.objects[all[b.random.IntN(len(all))]]
			}
			if b.random.IntN(2) == 0 {
				b.objects[key], b.lasting[path.Base(key)] = data, fault
			} // else the next answer is right
		}
	}
	switch {
	case key == "":
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
		for _, k := range slices.Sorted(maps.Keys(b.objects)) {
			if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>", k,
					len(b.objects[k]), time.Now().UTC().Format(time.RFC3339))
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		fail(http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		if strings.HasPrefix(r.Header.Get("X-Amz-Content-Sha256"), "STREAMING") { // one chunk
			if head, rest, ok := strings.Cut(string(body), "\r\n"); ok {
				var n int
				if _, err := fmt.Sscanf(head, "%x", &n); err == nil && n <= len(rest) {
					body = []byte(rest[:n])
				}
			}
		}
		b.objects[key] = body
	case !there:
		fail(http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodDelete:
		delete(b.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Now(), strings.NewReader(string(data)))
	}
}

// mostFaults is how many faults of a bucket are played.
const mostFaults = 1000

// oneRequestIn is how many requests of a bucket have one that fails: hundreds of times as many as real ones.
const oneRequestIn = 30

// bucket plays campaigns over a bucket that fails, until there were enough faults. Each campaign ends right
// and verified, and each object that is not what it was is named in a log.
func (s *settings) bucket(ctx context.Context) error {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	b := &bucket{random: rand.New(rand.NewPCG(s.seed, 3)), faults: map[string]int{}}
	server := &http.Server{Handler: b, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": "http://" + listener.Addr().String(),
		"AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret"} {
		if err := os.Setenv(name, value); err != nil {
			return err
		}
	}
	config := filepath.Join(s.folder, "bucket.yaml")
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(config, []byte("evidence-store: s3://farm/parts\n"), 0o600); err != nil {
		return err
	}
	more := []string{"--config", config, "--initial-budget", "1000", "--max-budget", "4000"}
	var table rows
	named, unnamed := 0, 0
	for round, all := 0, 0; all < mostFaults && ctx.Err() == nil; round++ {
		b.mu.Lock()
		b.objects, b.lasting, b.oneIn = map[string][]byte{}, map[string]string{}, min(round, 1)*oneRequestIn
		b.mu.Unlock()
		r, err := s.play(ctx, fmt.Sprintf("bucket-%d", round), nil, more...)
		if err != nil {
			return err
		}
		table.add(r)
		text, err := s.logs(r.name)
		if err != nil {
			return err
		}
		b.mu.Lock()
		for id, fault := range b.lasting {
			if strings.Contains(text, id[:8]) {
				named++
			} else {
				unnamed++ // nobody asked for it again
				fmt.Fprintf(os.Stderr, "%s: no log names part %s: %s\n", r.name, id, fault)
			}
		}
		all = 0
		for _, n := range b.faults {
			all += n
		}
		b.mu.Unlock()
	}
	fmt.Println("\n| fault | times |\n| --- | --- |")
	for _, fault := range bucketFaults {
		fmt.Printf("| %s | %d |\n", fault.name, b.faults[fault.name])
	}
	fmt.Printf("\n%d objects were lost or changed for good; %d of them are named in a log, "+
		"the others were not asked for again\n", named+unnamed, named)
	return table.err()
}

// logs returns the text of all logs of a campaign.
func (s *settings) logs(name string) (string, error) {
	var text strings.Builder
	for _, pattern := range []string{"log", "honest-*.log"} {
		list, err := filepath.Glob(filepath.Join(s.folder, name, pattern))
		if err != nil {
			return "", err
		}
		for _, file := range list {
			data, err := os.ReadFile(file)
			if err != nil {
				return "", err
			}
			text.Write(data)
		}
	}
	return text.String(), nil
}
