package store

import (
	"cmp"
	"time"

	"amazonsfarm/shared/disk"
)

// Defaults of Options.
const (
	DefaultMinFreeBytes = 256 << 20
	DefaultMaxCampaigns = 64
	defaultLockTimeout  = 500 * time.Millisecond
)

// Limits that nobody has had a reason to turn.
const (
	// maxCertificateBytes is the size of the largest certificate. The farm's own limit on uploads is
	// far below it.
	maxCertificateBytes = 16 << 30
	// maxStoreBytes bounds the file; it keeps a runaway campaign from filling an array of disks.
	maxStoreBytes = 1 << 40
	// mapAheadBytes is the address space, not memory, that the file may grow into. While a backup
	// runs, commits of a store that outgrows it wait until the backup has ended.
	mapAheadBytes = 64 << 30
	// maxRecords bounds one Commit, which is held in memory at about 300 bytes a record.
	maxRecords = 1 << 22
)

// Options are the settings of a store. The zero value of each field stands for its default.
type Options struct {
	// LockTimeout is how long Create and Open wait for another process to close the file. Default
	// 500 ms. Too short: a restart races with the end of the process before it. Too long: a second
	// master learns late that it is the second.
	LockTimeout time.Duration

	// MinFreeBytes is how much of the disk is left to others, in bytes. Default 256 MiB; negative:
	// nothing. A commit that would leave less is refused with ErrNoRoom; it may be tried again
	// when there is room. Too small: the disk may fill up in the middle of a commit, which on some
	// file systems is known only when it is too late to go on without opening the store again.
	// Too large: a campaign stands still although there is room.
	MinFreeBytes int64

	// FreeBytes tells how many bytes may still be written to the disk under a path, and false
	// where that is unknown. Default: asks the file system.
	FreeBytes func(path string) (int64, bool)

	// MaxCampaigns is how many campaigns a store may have, settled and ended ones included.
	// Default 64. Each open one has a tree in the memory of its master. More are refused with
	// ErrTooLarge.
	MaxCampaigns int

	// Evidence is where the parts of a new store lie, as evidence.Open takes it. Default: in the folder
	// beside the file. A store that is there knows its place; another one is refused with ErrInvalid.
	Evidence string
	// Digest drops the bytes of a part once it is verified. The record keeps its outline.
	Digest bool

	// ReadOnly opens the file beside other readers, never writes to it, and answers every write
	// with ErrReadOnly. Create refuses it.
	ReadOnly bool

	limits
}

// limits are what only tests change.
type limits struct {
	certificateBytes, storeBytes, mapAhead int64
	records                                int
	// onCommit, where not nil, is told of each transaction on disk: the time from its begin to the
	// end of its fsync, and the number of its records. It runs on the store's own goroutine.
	onCommit func(d time.Duration, records int)
	// acceptOlder opens a store whose newest header is damaged at the commit before, which loses
	// the last commit. Otherwise such a store is ErrCorrupt.
	acceptOlder bool
}

// withDefaults returns the options with defaults filled in.
func (o Options) withDefaults() Options {
	o.LockTimeout = cmp.Or(o.LockTimeout, defaultLockTimeout)
	o.MinFreeBytes = cmp.Or(o.MinFreeBytes, DefaultMinFreeBytes)
	o.MaxCampaigns = cmp.Or(o.MaxCampaigns, DefaultMaxCampaigns)
	o.certificateBytes = cmp.Or(o.certificateBytes, maxCertificateBytes)
	o.storeBytes = cmp.Or(o.storeBytes, maxStoreBytes)
	o.mapAhead = cmp.Or(o.mapAhead, mapAheadBytes)
	o.records = cmp.Or(o.records, maxRecords)
	if o.FreeBytes == nil {
		o.FreeBytes = disk.FreeBytes
	}
	return o
}
