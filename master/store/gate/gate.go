// Package gate says whether a file is a proof store that this build can use, before bbolt sees it.
//
// A file that somebody names on the command line may be anything: a picture, a database of another
// program, a store of another version, a store with a torn header. bbolt may crash on such a file,
// and opening it for writing may change it. So [Verify] reads the file by itself first and answers
// in this order, the cheapest question first:
//
//   - Is it a bbolt file at all? (package page, the headers)
//   - Does it hold the magic record of a proof store?
//   - Is it in the format of this build? If not, the record about the campaign names a build that
//     fits.
//   - Is the newest header whole? bbolt would silently go back to the commit before.
//   - Is each page used once or free?
//
// Only then may bbolt have the file. The order matters for people: an old store is called old, and
// not damaged.
package gate

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"

	"amazonsfarm/master/store/page"
	"amazonsfarm/master/store/record"
)

// Verify reads a file without bbolt. It is an error unless the file is a store of this program, in the
// format of this build, with a whole page structure; with acceptOlder one of its two headers may be
// damaged. The path is for messages. Errors: record.ErrForeign, record.ErrVersion, record.ErrCorrupt,
// those of the file system.
func Verify(f *os.File, path string, acceptOlder bool) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	size := info.Size()
	foreign := func(what string) error {
		return fmt.Errorf("%w: %s is %s; give the path of a store that this program has created", record.ErrForeign,
			path, what)
	}
	if size == 0 {
		return foreign("empty")
	}
	headers, err := page.ReadHeaders(f, size)
	if errors.Is(err, page.ErrForeign) {
		return foreign("a file of another kind")
	} else if err != nil {
		return err
	}
	newest := headers[0]
	if len(headers) > 1 && headers[1].TxID > newest.TxID {
		newest = headers[1]
	}
	m, err := page.New(context.Background(), f, size, newest)
	if err != nil {
		return err
	}
	buckets, err := m.Buckets()
	if err != nil {
		return err
	}
	meta, ok := buckets[record.BucketMeta]
	if !ok {
		return foreign("a bbolt file of another program")
	}
	values := map[string][]byte{}
	err = m.Walk(meta, func(l page.Leaf) error {
		if l.Bucket || l.Bytes > record.MaxJSONBytes+record.SumBytes {
			return nil
		}
		value := make([]byte, l.Bytes)
		_, err := f.ReadAt(value, l.Offset)
		values[string(l.Key)] = value
		return err
	})
	if err != nil {
		return err
	}
	magic := values[record.KeyMagic]
	if !bytes.HasPrefix(magic, []byte(record.Magic)) {
		return foreign("a bbolt file of another program")
	}
	if _, err := record.Unseal(record.BucketMeta, []byte(record.KeyMagic), magic); err != nil {
		return err
	}
	version, err := record.DecodeFormat(values[record.KeyFormat])
	if err != nil {
		return err
	}
	if version != record.Format {
		return fmt.Errorf("%w: %s has format %d, this build uses format %d; %s", record.ErrVersion, path, version,
			record.Format, buildThatFits(values[record.KeyCampaign]))
	}
	if len(headers) < 2 && !acceptOlder {
		return record.Damaged("", "one of its two headers is damaged, perhaps that of the last commit")
	}
	campaigns, err := record.CampaignsIn(maps.All(values))
	if err != nil {
		return err
	}
	return m.Whole(buckets, record.BucketsOf(campaigns), record.BucketMeta)
}

// buildThatFits names a build that can use a store of another format: the build that made it, if the
// record about the campaign says so in characters that a terminal can show.
func buildThatFits(campaign []byte) string {
	var c record.Campaign
	if record.DecodeJSON(record.KeyCampaign, campaign, &c) != nil || c.Build == "" || !record.Printable(c.Build) {
		return "take a build that fits"
	}
	return "take a build that fits, such as " + c.Build + ", which made it"
}

// KindOf names a file that is no regular one.
func KindOf(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "folder"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
