package store

import (
	"errors"
	"fmt"

	"amazonsfarm/master/store/record"
)

// The kinds of error; judge with errors.Is. Each message is one sentence that says what is wrong and
// what would be right.
var (
	// ErrMissing: there is no file at the path.
	ErrMissing = errors.New("there is no proof store")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the proof store is locked")
	// ErrForeign: the file is not a proof store of this program.
	ErrForeign = record.ErrForeign
	// ErrVersion: the store's format is older or newer than this build can use.
	ErrVersion = record.ErrVersion
	// ErrCorrupt: the file is damaged. Errors about a place in the file are also a
	// *record.CorruptError.
	ErrCorrupt = record.ErrCorrupt
	// ErrCampaign: a campaign is malformed, or is not in the store.
	ErrCampaign = record.ErrCampaign
	// ErrTaken: another campaign has the name, or asks the question.
	ErrTaken = errors.New("there is such a campaign already")
	// ErrInvalid: the caller passed a malformed effect, result, certificate or option.
	ErrInvalid = errors.New("not accepted by the proof store")
	// ErrContradiction: a fact or result says the opposite of the stored one. For facts the error
	// is also a *ContradictionError.
	ErrContradiction = errors.New("contradiction")
	// ErrNoEvidence: the certificate of a fact is not complete in the store.
	ErrNoEvidence = errors.New("a fact without evidence does not enter the store")
	// ErrNoCertificate: there is no complete certificate with that id.
	ErrNoCertificate = errors.New("no such certificate")
	// ErrDropped: the bytes of the certificate are not kept; what it proves was verified.
	ErrDropped = errors.New("the part is kept as a digest only; prove its roots again to read it")
	// ErrMismatch: a certificate does not have the hash that names it, or is for another pool.
	ErrMismatch = errors.New("the certificate is not what was announced")
	// ErrTooLarge: a certificate, a commit or the number of campaigns is above its limit.
	ErrTooLarge = record.ErrTooLarge
	// ErrNoRoom: the disk or the store is full, and nothing was written. The error passes once
	// somebody makes room; it never comes with ErrFailed.
	ErrNoRoom = errors.New("no space for the proof store")
	// ErrReadOnly: a write to a store that was opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the proof store is open for reading only")
	// ErrFailed: an earlier write to disk failed, so that memory and disk may differ. The store
	// refuses writes until it is opened again.
	ErrFailed = errors.New("the proof store has failed")
	// ErrClosed: the store is closed.
	ErrClosed = errors.New("the proof store is closed")
)

// during adds to an error what the store was doing. A nil error stays nil.
func during(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
