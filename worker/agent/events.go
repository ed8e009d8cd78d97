package agent

import (
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/proof"
	"amazonsfarm/worker/engine"
)

// Event is what a [Machine] is told.
type Event interface{ event() }

type (
	// Tick says that time has passed: at least until [Machine.Wake].
	Tick struct{}
	// Joined says that Join succeeded and a stream is open.
	Joined struct {
		Session *farmv1.JoinResponse
		// FirstBeat is the time until the first heartbeat. 0: the time between two.
		FirstBeat time.Duration
	}
	// Lost says that Join failed or the stream broke. An error that wraps ErrRefused is final, unless it
	// is about the date of a credential that was good before.
	Lost struct {
		Err    error
		Again  bool    // the master is there, and only wants the worker to join again
		Jitter float64 // 0..1, at random: the share of the variable half of the pause before the next try
	}
	// Received is a message of the master.
	Received struct{ Message *farmv1.WorkResponse }
	// Uploaded says that an Upload has ended. An error that wraps errUpload is final; any other
	// error breaks the stream.
	Uploaded struct{ Err error }
	// Searching is how far the Search under way is, and how full the table is, 0..1.
	Searching struct {
		Nodes, Evaluations uint64
		TableFill          float64
		Outlook            *engine.Outlook // nil: none this time
	}
	// Alive says that a Gather, or an Upload, goes on. It counts as work in the next heartbeat. Done and
	// Total say how far it is: positions proved, or bytes sent; a Total of 0 is not known.
	Alive struct {
		Upload      bool
		Done, Total int
	}
	// Searched says that a Search has ended; Interrupted that Stop or its time limit ended it.
	Searched struct {
		Result      Result
		Interrupted bool
	}
	// Gathered says that a Gather has ended.
	Gathered struct {
		Parts []Part
		Hints []byte // what the table knows of the position; empty: nothing worth sending
	}
	// Examined says how the check of a part came out.
	Examined struct{ Report *farmv1.Checked }
	// Drain asks for an orderly end.
	Drain struct{}
)

func (Tick) event()      {}
func (Joined) event()    {}
func (Lost) event()      {}
func (Received) event()  {}
func (Uploaded) event()  {}
func (Searching) event() {}
func (Alive) event()     {}
func (Searched) event()  {}
func (Gathered) event()  {}
func (Examined) event()  {}
func (Drain) event()     {}

// Effect is what a [Machine] wants done.
type Effect interface{ effect() }

type (
	// Join asks to join a master and to open a stream. Joined or Lost follows.
	Join struct{}
	// HangUp asks to break the stream. Lost with this error follows.
	HangUp struct{ Err error }
	// Send asks to send a message on the stream, after those before. A Progress may be left out
	// when a later one of the same lease waits behind it. The stream ends with a Goodbye.
	Send struct{ Message *farmv1.WorkRequest }
	// Upload asks to upload a part for a campaign. Uploaded follows, or Lost.
	Upload struct {
		Part     Part
		Campaign uint32
	}
	// Equip asks for an engine of these settings in the place of the one before. No Search and no
	// Gather is under way.
	Equip struct{ Config engine.Config }
	// Search asks to search a job for at most this time. Searched follows.
	Search struct {
		Job   Job
		Limit time.Duration
	}
	// Stop asks to end the Search or Gather under way, if there is one. Searched or Gathered follows as
	// without it.
	Stop struct{}
	// Gather asks to prove facts, and for what the table knows of the position that was searched
	// last, unless that is proved now. Gathered follows.
	Gather struct {
		Key   amazons.Key // of the position; the zero key: nobody needs to know of it
		Facts []proof.Fact
		Limit time.Duration // of the proofs; 0: none
		Last  bool          // the search of the position has ended
	}
	// Forget asks that the engine forget what was delivered: at once, or when the Search or Gather
	// under way has ended. With Told, facts of others may be false: the table rests on them, and is
	// emptied as well.
	Forget struct{ Told bool }
	// Examine asks to fetch a part and to check it, beside everything else. Examined follows, or Lost.
	Examine struct{ Check *farmv1.Check }
	// Learn asks to tell the engine facts that others have proved, also during a Search.
	Learn struct{ Facts []proof.Fact }
	// End says that the work is over: in order (nil), or with an error of [Run].
	End struct{ Err error }
)

func (Join) effect()    {}
func (HangUp) effect()  {}
func (Send) effect()    {}
func (Upload) effect()  {}
func (Equip) effect()   {}
func (Search) effect()  {}
func (Stop) effect()    {}
func (Gather) effect()  {}
func (Forget) effect()  {}
func (Learn) effect()   {}
func (Examine) effect() {}
func (End) effect()     {}
