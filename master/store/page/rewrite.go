package page

import (
	"context"
	"errors"

	"go.etcd.io/bbolt"
)

// rewriteBytes bounds the keys and values of one transaction of Rewrite.
const rewriteBytes = 16 << 20

// Rewrite writes every record of the named buckets to a new file, into full pages, and tells progress
// how many bytes of keys and values are there. It does not sync the file.
func Rewrite(ctx context.Context, tx *bbolt.Tx, file string, buckets []string, progress func(done int64)) error {
	to, err := bbolt.Open(file, 0o600, &bbolt.Options{PageSize: 4096, FreelistType: bbolt.FreelistMapType,
		NoSync: true, NoGrowSync: true})
	if err != nil {
		return err
	}
	done := int64(0)
	for _, bucket := range buckets {
		if err := to.Update(func(out *bbolt.Tx) error {
			_, err := out.CreateBucket([]byte(bucket))
			return err
		}); err != nil {
			return errors.Join(err, to.Close())
		}
		cursor := tx.Bucket([]byte(bucket)).Cursor()
		for k, v := cursor.First(); k != nil; {
			progress(done)
			err := to.Update(func(out *bbolt.Tx) error {
				b := out.Bucket([]byte(bucket))
				// Keys come in order and none follows later between two others, so pages need no room to grow.
				b.FillPercent = 1
				// bbolt keeps what a transaction writes in memory until it commits.
				for bytes := 0; k != nil && bytes < rewriteBytes; k, v = cursor.Next() {
					if err := b.Put(k, v); err != nil {
						return err
					}
					bytes += len(k) + len(v)
					done += int64(len(k) + len(v))
				}
				return ctx.Err()
			})
			if err != nil {
				return errors.Join(err, to.Close())
			}
		}
	}
	return to.Close()
}
