package agent

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/proof"
)

// maxReply bounds what is read of a bucket's reason for refusing, in bytes.
const maxReply = 16 << 10

// web makes the calls to buckets: a connection comes about in seconds or not at all.
var web = &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment,
	TLSHandshakeTimeout: 10 * time.Second, ResponseHeaderTimeout: time.Minute, MaxIdleConnsPerHost: 4,
	IdleConnTimeout: time.Minute,
	// A part is read as it lies in the bucket: its header may claim a compression, and its maker may lie.
	DisableCompression: true}}

// place puts a part into the bucket of the master. Its error has a code, as that of an upload.
// It asks for an address, puts the part there, and says that it is there. After a break in between, the
// next try finds the part in its place.
func (c *connection) place(ctx context.Context, e Upload) error {
	outline, err := proof.Outline(bytes.NewReader(e.Part.Data), int64(len(e.Part.Data)))
	if err != nil {
		return status.Error(codes.InvalidArgument, err.Error())
	}
	if len(outline) > farmv1.MaxOutlineBytes {
		return status.Errorf(codes.InvalidArgument, "its outline has %d bytes, %d are allowed", len(outline),
			farmv1.MaxOutlineBytes)
	}
	r := &farmv1.PlaceCertificateRequest{Session: c.session.GetSession(), Sha256: e.Part.ID[:],
		Size: uint64(len(e.Part.Data)), Campaign: e.Campaign, Outline: outline}
	where, err := c.client.PlaceCertificate(ctx, r)
	if err != nil || where.GetKnown() {
		return err
	}
	if err := c.put(ctx, where, e.Part.Data); err != nil {
		return status.Errorf(codes.Aborted, "the bucket takes no part: %v", err)
	}
	r.Placed = true
	_, err = c.client.PlaceCertificate(ctx, r)
	return err
}

// put puts a part where the master says. That it is there already is no error.
func (c *connection) put(ctx context.Context, where *farmv1.PlaceCertificateResponse, data []byte) error {
	body := &lively{bytes.NewReader(data), func() { c.tell(Alive{Upload: true}) }}
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, where.GetUrl(), body)
	if err != nil {
		return withoutAddress(err)
	}
	r.ContentLength = int64(len(data))
	for k, v := range where.GetHeaders() {
		r.Header.Set(k, v)
	}
	answer, err := web.Do(r)
	if err != nil {
		return withoutAddress(err)
	}
	defer answer.Body.Close()
	// 412: the address takes new objects only, and has one. Its name is the SHA-256 of the part.
	if answer.StatusCode/100 == 2 || answer.StatusCode == http.StatusPreconditionFailed {
		return nil
	}
	return refused(answer)
}

// errNoPart says that there is no such part, or none of its size.
var errNoPart = errors.New("the part is not in the bucket as it was announced")

// get reads a part of a known size from a bucket.
func (c *connection) get(ctx context.Context, address string, size int64) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, withoutAddress(err)
	}
	answer, err := web.Do(r)
	if err != nil {
		return nil, withoutAddress(err)
	}
	defer answer.Body.Close()
	switch answer.StatusCode {
	case http.StatusOK:
	case http.StatusNotFound:
		return nil, fmt.Errorf("%w: %w", errNoPart, refused(answer))
	default:
		return nil, refused(answer)
	}
	// One byte beyond the size shows that there is more, which is not read.
	data, err := io.ReadAll(io.LimitReader(answer.Body, size+1))
	if err == nil && int64(len(data)) != size {
		err = fmt.Errorf("%w: %d bytes came, or more, of %d", errNoPart, len(data), size)
	}
	return data, err
}

// lively tells of each piece that is read.
type lively struct {
	*bytes.Reader
	tell func()
}

func (l *lively) Read(p []byte) (int, error) {
	l.tell()
	return l.Reader.Read(p)
}

// withoutAddress takes the address out of an error: it has a signature.
func withoutAddress(err error) error {
	if in, ok := errors.AsType[*url.Error](err); ok {
		return in.Err
	}
	return err
}

// refused says why a bucket refuses a call.
func refused(answer *http.Response) error {
	var said struct {
		XMLName       xml.Name `xml:"Error"`
		Code, Message string
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, maxReply))
	_ = xml.Unmarshal(body, &said) // else its status has to do
	why := strings.TrimSpace(said.Code + " " + said.Message)
	switch code := said.Code; {
	case code == "RequestTimeTooSkewed", code == "AccessDenied" && strings.Contains(said.Message, "expired"):
		why += "; the clocks of master and bucket differ, or the line is slow: set the clocks"
	case code == "AccessDenied":
		why += "; the master's credentials may not do this"
	case code == "SignatureDoesNotMatch", code == "InvalidAccessKeyId":
		why += "; the master's credentials are wrong"
	}
	return fmt.Errorf("%s: %s", answer.Status, why)
}
