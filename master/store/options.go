package store

import (
	"fmt"
	"time"

	"amazonsfarm/shared/disk"
)

// DefaultMinFreeBytes is the default of Options.MinFreeBytes.
const DefaultMinFreeBytes = 256 << 20

// Options are the limits of a store. The zero value of each field stands for its default.
type Options struct {
	// LockTimeout is how long Create and Open wait for another process to let go of
	// the file. Default 500 ms. Too short: a restart races with the end of the
	// process before it. Too long: a second master is told late that it is second.
	LockTimeout time.Duration

	// MaxCertificateBytes is the size of the largest certificate, in bytes. Default 16 GiB.
	// Larger ones are refused with ErrTooLarge before anything is uploaded.
	MaxCertificateBytes int64

	// MaxStoreBytes is how large the file may grow, in bytes. Default 1 TiB. A commit that would
	// need more is refused with ErrNoSpace and nothing of it is written.
	MaxStoreBytes int64

	// MinFreeBytes is how much of the disk is left to others, in bytes. Default 256 MiB; negative:
	// nothing. A commit that would leave less is refused with ErrNoSpace; it may be tried again
	// when there is room. Too small: the disk may fill up in the middle of a commit, which on some
	// file systems is known only when it is too late to go on without opening the store again.
	// Large: a campaign stands still while there would be room.
	MinFreeBytes int64

	// FreeBytes tells how many bytes may still be written to the disk under a path, false where
	// that is not known. Default: asks the file system.
	FreeBytes func(path string) (int64, bool)

	// MapAheadBytes is how much address space is reserved for the file to grow into, in bytes.
	// Default 64 GiB; negative: none. It is no memory. A store that outgrows it while a backup runs
	// waits with its commits until the backup has ended.
	MapAheadBytes int64

	// MaxBatchRecords is how many records one Commit may hold. Default 4,194,304. Larger batches are
	// refused with ErrTooLarge; one transaction is held in memory, at about 300 bytes a record.
	MaxBatchRecords int

	// MaxUploads is how many certificates may be on their way in at once. Default 256. Each holds
	// 1 MiB of memory; more are refused with ErrBusy.
	MaxUploads int

	// MaxCampaigns is how many campaigns a store may have, those that are done or ended included.
	// Default 64. Each that is not over has a tree in the memory of its master. More are refused
	// with ErrTooLarge.
	MaxCampaigns int

	// MaxMemories is how many search memories are kept for a board and kind of proof. Default 64.
	// When there are as many, a memory of another position is dropped, and who goes on with that
	// position after a restart begins anew.
	MaxMemories int

	// MaxMemoryBytes is the size of the largest memory, in bytes. Default 1 MiB. Larger ones are
	// dropped.
	MaxMemoryBytes int

	// OnCommit, where not nil, is told of each transaction on disk: the time from its begin
	// to the end of its fsync, and the number of records in it. It runs on the store's
	// own goroutine: it must return soon and may not write to the store.
	OnCommit func(d time.Duration, records int)

	// ReadOnly opens the file beside other readers, never writes to it and
	// answers every write with ErrReadOnly. Create does not take it.
	ReadOnly bool

	// AcceptOlder opens a store whose newest header is damaged at the commit before,
	// which loses the last commit. Without it such a store is ErrCorrupt.
	AcceptOlder bool
}

// withDefaults returns the options with defaults filled in. Errors wrap ErrInvalid.
func (o Options) withDefaults() (Options, error) {
	if o.LockTimeout < 0 || o.MaxCertificateBytes < 0 || o.MaxStoreBytes < 0 || o.MaxBatchRecords < 0 ||
		o.MaxUploads < 0 ||
		o.MaxCampaigns < 0 || o.MaxMemories < 0 || o.MaxMemoryBytes < 0 {
		return o, fmt.Errorf("%w: a limit in its options is negative; 0 stands for the default", ErrInvalid)
	}
	if o.LockTimeout == 0 {
		o.LockTimeout = 500 * time.Millisecond
	}
	if o.MaxCertificateBytes == 0 {
		o.MaxCertificateBytes = 16 << 30
	}
	if o.MaxStoreBytes == 0 {
		o.MaxStoreBytes = 1 << 40
	}
	if o.MinFreeBytes == 0 {
		o.MinFreeBytes = DefaultMinFreeBytes
	}
	if o.FreeBytes == nil {
		o.FreeBytes = disk.FreeBytes
	}
	if o.MapAheadBytes == 0 {
		o.MapAheadBytes = 64 << 30
	}
	if o.MaxBatchRecords == 0 {
		o.MaxBatchRecords = 1 << 22
	}
	if o.MaxUploads == 0 {
		o.MaxUploads = 256
	}
	if o.MaxCampaigns == 0 {
		o.MaxCampaigns = 64
	}
	if o.MaxMemories == 0 {
		o.MaxMemories = 64
	}
	if o.MaxMemoryBytes == 0 {
		o.MaxMemoryBytes = 1 << 20
	}
	return o, nil
}
