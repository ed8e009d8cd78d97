package evidence

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"github.com/minio/minio-go/v7/pkg/s3utils"

	"amazonsfarm/shared/proof"
)

const (
	// callPatience bounds a call about a bucket, apart from the bytes that it carries.
	callPatience = 30 * time.Second
	// readRate is how slowly the bytes of a part may come, in bytes a second.
	readRate = 32 << 10
	// AddressLife is how long a presigned address is good. It is longer than a worker waits for one try, and short,
	// so that a stolen address is soon of no use.
	AddressLife = 15 * time.Minute
	// maxObject bounds what is read of a part: more than any that a master takes.
	maxObject = 1 << 30
	// tries is how often a call is tried, with pauses that grow to a second.
	tries = 4
)

// Bucket is a Store that workers write to and read from by themselves.
type Bucket interface {
	Store
	// PutURL returns the address, and the headers, with which a part is put by one HTTP request, for
	// AddressLife. They bind the name, the size, the SHA-256 and, where the server can do it, that there is no
	// such part yet.
	PutURL(id proof.ID, size int64) (address string, headers map[string]string, err error)
	// GetURL returns the address from which a part is read, for some minutes.
	GetURL(id proof.ID) (string, error)
	// ReadBytes returns how many bytes of parts this process has read from the bucket.
	ReadBytes() int64
}

// S3 is a Bucket behind the S3 protocol. The part abcdef... is the object PREFIX/abcdef....
type S3 struct {
	client         *minio.Client
	bucket, prefix string
	read           atomic.Int64
}

// Scheme begins the place of a bucket.
const Scheme = "s3://"

// Open returns the parts at a place: s3://BUCKET or s3://BUCKET/PREFIX, or a folder; see OpenFolder.
// The endpoint of a bucket and the credentials come from the environment: AWS_ENDPOINT_URL_S3 or
// AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN, or the file that
// AWS_SHARED_CREDENTIALS_FILE names. Errors: ErrPlace; nothing is read of the bucket.
func Open(place string) (Store, error) {
	rest, ok := strings.CutPrefix(place, Scheme)
	if info, err := os.Stat(place); !ok && err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%w: %s is no folder; give a folder or s3://BUCKET/PREFIX", ErrPlace, place)
	} else if !ok {
		return OpenFolder(place), nil
	}
	s := new(S3)
	s.bucket, s.prefix, _ = strings.Cut(strings.TrimSuffix(rest, "/"), "/")
	if err := s3utils.CheckValidBucketName(s.bucket); err != nil {
		return nil, fmt.Errorf("%w: %w; give s3://BUCKET or s3://BUCKET/PREFIX", ErrPlace, err)
	}
	if s.prefix != "" {
		s.prefix += "/"
	}
	at := cmp.Or(os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL"), "https://s3.amazonaws.com")
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || strings.Trim(u.Path, "/") != "" {
		return nil, fmt.Errorf("%w: AWS_ENDPOINT_URL is %q; give http://HOST:PORT or https://HOST", ErrPlace, at)
	}
	keys := credentials.NewChainCredentials([]credentials.Provider{&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{}})
	if v, err := keys.GetWithContext(&credentials.CredContext{Client: http.DefaultClient}); err != nil ||
		v.AccessKeyID == "" || v.SecretAccessKey == "" {
		return nil, fmt.Errorf("%w: no credentials for %s; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "+
			"AWS_SHARED_CREDENTIALS_FILE", ErrPlace, place)
	}
	s.client, err = minio.New(u.Host, &minio.Options{Creds: keys, Secure: u.Scheme == "https",
		Region: cmp.Or(os.Getenv("AWS_REGION"), os.Getenv("AWS_DEFAULT_REGION"), "us-east-1"), MaxRetries: tries})
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrPlace, place, err)
	}
	return s, nil
}

// String returns the place, as Open takes it.
func (s *S3) String() string { return strings.TrimSuffix(Scheme+s.bucket+"/"+s.prefix, "/") }

// ReadBytes implements Bucket.
func (s *S3) ReadBytes() int64 { return s.read.Load() }

func (s *S3) key(id proof.ID) string { return s.prefix + id.Name() }

// failed says what is wrong with the bucket, in one sentence without any credential; nil if nothing is.
func (s *S3) failed(what string, err error) error {
	if err == nil {
		return nil
	}
	r := minio.ToErrorResponse(err)
	why := ""
	switch r.Code {
	case "NoSuchKey":
		return fmt.Errorf("%w: %s in %s", ErrMissing, what, s)
	case "NoSuchBucket":
		why = "there is no such bucket; make it, or give another evidence-store"
	case "AccessDenied", "InvalidAccessKeyId", "SignatureDoesNotMatch", "ExpiredToken", "InvalidToken":
		why = "the bucket refuses the credentials; see AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
	case "RequestTimeTooSkewed":
		why = "the clock of this machine is not that of the bucket; set the clock"
	case "QuotaExceeded", "XMinioStorageFull", "InsufficientStorage", "EntityTooLarge":
		why = "the bucket is full; make room"
	case "", "InternalError":
		why = "the bucket does not answer"
	}
	if address, ok := errors.AsType[*url.Error](err); ok { // its text has the whole address, with a signature
		err = address.Err
	}
	return fmt.Errorf("%w: %s: %s: %s (%v)", ErrAway, s, what, cmp.Or(why, "the bucket refuses the call"), err)
}

// missed is failed about a part. An object of a bucket that is gone reads as one that is missing, so the bucket is
// looked at before a part counts as lost.
func (s *S3) missed(what string, err error) error {
	err = s.failed(what, err)
	if errors.Is(err, ErrMissing) {
		err = cmp.Or(s.Ready(), err)
	}
	return err
}

// Ready returns nil if the bucket is there and takes the credentials. Errors: ErrAway.
func (s *S3) Ready() error {
	ctx, cancel := context.WithTimeout(context.Background(), callPatience)
	list := s.client.ListObjects(ctx, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix, MaxKeys: 1})
	o := <-list
	cancel()
	for range list { // the client's goroutine ends once it is read to the end
	}
	return s.failed("first look", o.Err)
}

// PutURL implements Bucket.
func (s *S3) PutURL(id proof.ID, size int64) (string, map[string]string, error) {
	headers := map[string]string{"X-Amz-Checksum-Sha256": base64.StdEncoding.EncodeToString(id[:]),
		"If-None-Match": "*"}
	signed := http.Header{"Content-Length": {strconv.FormatInt(size, 10)}} // which every client sends by itself
	for k, v := range headers {
		signed.Set(k, v)
	}
	u, err := s.client.PresignHeader(context.Background(), http.MethodPut, s.bucket, s.key(id), AddressLife, nil,
		signed)
	if err != nil {
		return "", nil, s.failed("address for "+id.Name(), err)
	}
	return u.String(), headers, nil
}

// GetURL implements Bucket.
func (s *S3) GetURL(id proof.ID) (string, error) {
	u, err := s.client.PresignedGetObject(context.Background(), s.bucket, s.key(id), AddressLife, nil)
	if err != nil {
		return "", s.failed("address of "+id.Name(), err)
	}
	return u.String(), nil
}

// Put implements Store.
func (s *S3) Put(id proof.ID, size int64, r io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(r, size+1))
	if err != nil {
		return err
	}
	if int64(len(data)) != size || proof.IDOf(data) != id {
		return fmt.Errorf("%w: %s: the bytes are other ones", ErrMismatch, id.Name())
	}
	ctx, cancel := context.WithTimeout(context.Background(), callPatience+time.Duration(size/readRate)*time.Second)
	defer cancel()
	_, err = s.client.PutObject(ctx, s.bucket, s.key(id), bytes.NewReader(data), size,
		minio.PutObjectOptions{DisableMultipart: true})
	return s.failed("put "+id.Name(), err)
}

// Open implements Store. It copies the part into a file without a name, and looks at all its bytes: what
// is read later cannot change. Further errors: ErrDamaged.
func (s *S3) Open(id proof.ID) (Object, error) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	slow := time.AfterFunc(callPatience, cancel)
	defer slow.Stop()
	in, err := s.client.GetObject(ctx, s.bucket, s.key(id), minio.GetObjectOptions{})
	if err != nil {
		return nil, s.failed("part "+id.Name(), err)
	}
	defer in.Close()
	info, err := in.Stat()
	if err != nil {
		return nil, s.missed("part "+id.Name(), err)
	}
	if info.Size > maxObject {
		return nil, fmt.Errorf("%w: the object %s in %s has %d bytes, and no part has so many", ErrDamaged, id.Name(),
			s, info.Size)
	}
	slow.Reset(callPatience + time.Duration(info.Size/readRate)*time.Second)
	to, err := os.CreateTemp("", "amazons-part-")
	if err != nil {
		return nil, err
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), io.LimitReader(in, info.Size+1))
	s.read.Add(n)
	switch _ = os.Remove(to.Name()); {
	case errors.As(err, new(*fs.PathError)): // of the file: no room for it
	case err != nil:
		err = s.failed("part "+id.Name(), err)
	case n != info.Size || proof.ID(sum.Sum(nil)) != id:
		err = fmt.Errorf("%w: the object %s in %s has %d bytes with the SHA-256 %x", ErrDamaged, id.Name(), s, n,
			sum.Sum(nil))
	}
	if err != nil {
		return nil, errors.Join(err, to.Close())
	}
	return object{to, n}, nil
}

// Has implements Store. Errors: ErrAway.
func (s *S3) Has(id proof.ID) (size int64, ok bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), callPatience)
	defer cancel()
	info, err := s.client.StatObject(ctx, s.bucket, s.key(id), minio.StatObjectOptions{})
	if err = s.missed("look for "+id.Name(), err); errors.Is(err, ErrMissing) {
		return 0, false, nil
	}
	return info.Size, err == nil, err
}

// Remove implements Store.
func (s *S3) Remove(id proof.ID) error {
	ctx, cancel := context.WithTimeout(context.Background(), callPatience)
	defer cancel()
	err := s.client.RemoveObject(ctx, s.bucket, s.key(id), minio.RemoveObjectOptions{})
	if err = s.failed("remove "+id.Name(), err); errors.Is(err, ErrMissing) {
		return nil
	}
	return err
}

// List implements Store.
func (s *S3) List() iter.Seq2[Part, error] {
	return func(yield func(Part, error) bool) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		o := minio.ListObjectsOptions{Prefix: s.prefix, Recursive: true}
		for o := range s.client.ListObjects(ctx, s.bucket, o) {
			p, err := Part{Bytes: o.Size, Since: o.LastModified}, o.Err
			if err != nil {
				yield(p, s.failed("list", err))
				return
			}
			if o.Key == s.prefix+claimName {
				continue
			}
			var named bool
			if p.ID, named = proof.ParseID(strings.TrimPrefix(o.Key, s.prefix)); !named || s.key(p.ID) != o.Key {
				err = fmt.Errorf("%w: the object %s in %s", ErrForeign, o.Key, s)
			}
			if !yield(p, err) {
				return
			}
		}
	}
}
