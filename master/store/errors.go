package store

import (
	"errors"

	"amazonsfarm/master/store/record"
)

// The kinds of error; judge with errors.Is. The message of each error that the
// package returns is one sentence that says what is wrong and what would be right.
var (
	// ErrMissing: there is no file at the path.
	ErrMissing = errors.New("there is no proof store")
	// ErrLocked: another process has the store open.
	ErrLocked = errors.New("the proof store is locked")
	// ErrForeign: the file is not a proof store of this program.
	ErrForeign = errors.New("not a proof store")
	// ErrVersion: the store's format is older or newer than this build can use.
	ErrVersion = errors.New("incompatible proof store version")
	// ErrCorrupt: the file is damaged. Errors about a place in the file are also a
	// *record.CorruptError.
	ErrCorrupt = record.ErrCorrupt
	// ErrCampaign: the campaign given is not one a store can hold, or not the one it holds.
	ErrCampaign = errors.New("wrong campaign")
	// ErrTaken: there is a campaign of that name, or of that question.
	ErrTaken = errors.New("the campaign is there already")
	// ErrInvalid: a batch, result or upload is malformed, which is a mistake of the caller.
	ErrInvalid = errors.New("not accepted by the proof store")
	// ErrContradiction: a fact or result says the opposite of what is stored, also a
	// *ContradictionError for facts.
	ErrContradiction = errors.New("contradiction")
	// ErrNoEvidence: a fact's certificate is not whole in the store.
	ErrNoEvidence = errors.New("a fact without evidence does not enter the store")
	// ErrNoCertificate: there is no complete certificate with that id.
	ErrNoCertificate = errors.New("no such certificate")
	// ErrMismatch: a certificate does not have the hash that names it, or is for another pool.
	ErrMismatch = errors.New("the certificate is not what was announced")
	// ErrTooLarge: a certificate or batch is larger than a limit in Options.
	ErrTooLarge = record.ErrTooLarge
	// ErrNoRoom: the store or the disk has reached its limit; nothing was written.
	ErrNoRoom = errors.New("no space for the proof store")
	// ErrReadOnly: a write to a store opened with Options.ReadOnly.
	ErrReadOnly = errors.New("the proof store is open for reading only")
	// ErrFailed: a write to disk failed earlier, so that memory and disk may differ; the store
	// takes no more writes until it is opened again.
	ErrFailed = errors.New("the proof store has failed")
	// ErrClosed: the store or the upload was closed before.
	ErrClosed = errors.New("the proof store is closed")
)
