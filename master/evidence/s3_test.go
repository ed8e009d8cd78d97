package evidence

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"amazonsfarm/shared/disk"
)

// server is so much of an S3 server as a bucket needs. It believes every signature.
type server struct {
	mu      sync.Mutex
	objects map[string][]byte
	refuse  string // with this code
	gone    bool   // the bucket is
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fail := func(status int, code string) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "<Error><Code>%s</Code><Message>no</Message></Error>", code)
	}
	bucket, key, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	data, there := s.objects[key]
	switch {
	case s.refuse != "":
		fail(http.StatusForbidden, s.refuse)
	case bucket != "farm" || s.gone:
		fail(http.StatusNotFound, "NoSuchBucket")
	case key == "":
		fmt.Fprint(w, "<ListBucketResult><IsTruncated>false</IsTruncated>")
		for _, k := range slices.Sorted(maps.Keys(s.objects)) {
			if strings.HasPrefix(k, r.URL.Query().Get("prefix")) {
				fmt.Fprintf(w, "<Contents><Key>%s</Key><Size>%d</Size><LastModified>%s</LastModified></Contents>", k,
					len(s.objects[k]), time.Now().UTC().Format(time.RFC3339))
			}
		}
		fmt.Fprint(w, "</ListBucketResult>")
	case r.Method == http.MethodPut && there && r.Header.Get("If-None-Match") == "*":
		fail(http.StatusPreconditionFailed, "PreconditionFailed")
	case r.Method == http.MethodPut:
		body, _ := io.ReadAll(r.Body)
		if text := r.Header.Get("X-Amz-Content-Sha256"); strings.HasPrefix(text, "STREAMING") { // one chunk
			if _, rest, ok := bytes.Cut(body, []byte("\r\n")); ok {
				var n int
				fmt.Sscanf(string(body), "%x", &n)
				body = rest[:n]
			}
		}
		s.objects[key] = body
	case !there:
		fail(http.StatusNotFound, "NoSuchKey")
	case r.Method == http.MethodDelete:
		delete(s.objects, key)
		w.WriteHeader(http.StatusNoContent)
	default:
		w.Header().Set("Last-Modified", time.Now().UTC().Format(http.TimeFormat))
		w.Header().Set("ETag", `"x"`)
		http.ServeContent(w, r, "", time.Now(), bytes.NewReader(data))
	}
}

// bucket returns a bucket of a server on loopback.
func bucket(t *testing.T) (*server, *S3) {
	t.Helper()
	s := &server{objects: map[string][]byte{}}
	on := httptest.NewServer(s)
	t.Cleanup(on.Close)
	t.Setenv("AWS_ENDPOINT_URL", on.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	b, err := Open("s3://farm/parts")
	if err != nil {
		t.Fatal(err)
	}
	return s, b.(*S3)
}

// TestBucket puts, reads, lists and removes parts of a bucket, and damages them in each way.
func TestBucket(t *testing.T) {
	s, b := bucket(t)
	p, id := put(t, b, 1, 5000)
	_, other := put(t, b, 2, 1)
	if size, ok, err := b.Has(id); size != 5000 || !ok || err != nil {
		t.Error(size, ok, err)
	}
	o, err := b.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(io.NewSectionReader(o, 0, o.Size())); err != nil || !bytes.Equal(got, p) {
		t.Error(len(got), err)
	}
	if err := errors.Join(o.Close(), b.Remove(other), b.Remove(other)); err != nil {
		t.Error(err)
	}
	if _, err := b.Open(other); !errors.Is(err, ErrMissing) || !strings.Contains(err.Error(), other.Name()) {
		t.Error(err)
	}
	s.objects["parts/stray"], s.objects["elsewhere"] = nil, nil
	if list := checked(t, b, nil); len(list) != 1 || !errors.Is(list[0], ErrForeign) {
		t.Error(list)
	}
	key := "parts/" + id.Name()
	for _, bad := range [][]byte{p[:4999], append(bytes.Clone(p), 0), bytes.ToUpper(p)} {
		s.objects[key] = bad
		if _, err := b.Open(id); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), id.Name()) {
			t.Errorf("%d bytes: %v", len(bad), err)
		}
	}
}

// TestAddresses uses the addresses that a bucket hands out: they put a part once, bound to its SHA-256.
func TestAddresses(t *testing.T) {
	s, b := bucket(t)
	p, id := partOf(3, 100)
	address, headers, err := b.PutURL(id, int64(len(p)))
	if err != nil || headers["X-Amz-Checksum-Sha256"] != base64.StdEncoding.EncodeToString(id[:]) ||
		!strings.Contains(address, "content-length%3B") || !strings.Contains(address, "x-amz-checksum-sha256") ||
		!strings.Contains(address, "/farm/parts/"+id.Name()+"?") {
		t.Fatal(address, headers, err)
	}
	for _, want := range []int{http.StatusOK, http.StatusPreconditionFailed} {
		r, err := http.NewRequest(http.MethodPut, address, bytes.NewReader(p))
		if err != nil {
			t.Fatal(err)
		}
		for k, v := range headers {
			r.Header.Set(k, v)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil || answer.StatusCode != want {
			t.Fatal(answer, err)
		}
		answer.Body.Close()
	}
	if address, err = b.GetURL(id); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if got, err := io.ReadAll(answer.Body); err != nil || !bytes.Equal(got, p) || len(s.objects) != 1 {
		t.Error(len(got), err)
	}
}

// TestBucketRefuses wants a sentence for each way in which a bucket cannot be used, without a credential.
func TestBucketRefuses(t *testing.T) {
	s, b := bucket(t)
	for code, want := range map[string]string{"SignatureDoesNotMatch": "refuses the credentials",
		"RequestTimeTooSkewed": "set the clock", "QuotaExceeded": "is full", "NoSuchBucket": "make it"} {
		s.refuse = code
		err := b.Ready()
		if !errors.Is(err, ErrAway) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", code, err)
		}
	}
	// An object of a bucket that is gone is not a part that is missing: it would be proved again.
	s.refuse, s.gone = "", true
	if _, _, err := b.Has([32]byte{1}); !errors.Is(err, ErrAway) || errors.Is(err, ErrMissing) {
		t.Errorf("has, without the bucket: %v", err)
	}
	if _, err := b.Open([32]byte{1}); !errors.Is(err, ErrAway) || errors.Is(err, ErrMissing) {
		t.Errorf("open, without the bucket: %v", err)
	}
	for _, bad := range []string{"s3://", "s3:///x", "s3://b/x", "s3://farm parts", "s3://key:secret@farm/parts"} {
		if _, err := Open(bad); !errors.Is(err, ErrPlace) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", bad, err)
		}
	}
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	if _, err := Open("s3://farm"); !errors.Is(err, ErrPlace) ||
		!strings.Contains(err.Error(), "no credentials") {
		t.Error(err)
	}
}

// TestNoRoomHere wants the disk named that has no room for the copy of a part, and not the bucket.
func TestNoRoomHere(t *testing.T) {
	_, b := bucket(t)
	_, id := put(t, b, 1, 5000)
	var limit syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit)
	few := syscall.Rlimit{Cur: 1000, Max: limit.Max}
	if err = errors.Join(err, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &few)); err != nil {
		t.Fatal(err)
	}
	_, err = b.Open(id)
	if again := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &limit); again != nil {
		t.Fatal(again)
	}
	if !disk.Full(err) || errors.Is(err, ErrAway) {
		t.Error(err)
	}
}

// TestClaim wants the first claim of a place to stay, in a folder and in a bucket, and not to count as a part.
func TestClaim(t *testing.T) {
	_, b := bucket(t)
	f := OpenFolder(t.TempDir())
	for _, s := range []Store{f, b} {
		for _, owner := range []string{"a.db", "b.db", "a.db"} {
			if got, err := s.claim(owner, false); got != "a.db" || err != nil {
				t.Errorf("%s: %s claims: %q, %v", s, owner, got, err)
			}
		}
		for _, again := range []bool{true, false} {
			if got, err := s.claim("b.db", again); got != "b.db" || err != nil {
				t.Errorf("%s: b.db claims again: %q, %v", s, got, err)
			}
		}
		for p, err := range s.List() {
			t.Errorf("%s lists %v, %v", s, p, err)
		}
	}
}
