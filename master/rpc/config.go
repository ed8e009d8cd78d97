// Package rpc translates between the master's loop (package loop) and gRPC: messages into events, the
// loop's answers into messages, its errors into codes. What workers upload comes in here too. It owns
// no campaign and no tree.
//
// # The way of a message of a worker
//
//   - A call has to be let in: package access looks at the credential and at the limits of its
//     owner. openings.go gives up on a call whose first message does not come.
//   - Join (farm.go) is the gate. It compares protocol, rules and build, and says what would fit.
//   - Work (farm.go) has two goroutines. One sends what the loop has put into the session's queue.
//     The other receives, and turns each message into a loop.Event (event.go).
//   - A message is judged by itself here: sizes, keys, verdicts, and whether its facts have a part
//     that says the same. Whether it fits the lease and the tree is for the loop to say.
//   - What no sound worker would send is reported to the loop as an offence, with its kind.
//
// # The way of a part
//
// A part comes before the message that names it. Where parts lie in a folder, upload.go receives
// the bytes: a place is taken first, then memory is counted as it is used, against the owner. admit
// reads the claims of the part, which must be for this campaign, and stores it. Where parts lie in
// a bucket, place.go hands out an address, and the worker reports the outline of what it has put
// there. Either way known.go remembers the claims, since the facts that name the part follow at
// once.
//
// # The way of an answer
//
// messages.go writes what the loop answers, one function a kind. codes.go gives the errors of the
// loop and the store their gRPC codes. A worker learns from the code whether to try again, and from
// the text what would be right. Errors without a code of their own are logged, and the caller sees
// that something went wrong inside.
package rpc

import (
	"cmp"
	"time"
)

const (
	// minFactNodes is the number of nodes below which a fact is not worth sending: it is found again
	// in less time than it takes to store it.
	minFactNodes = 1000
	// hintEntries is how many entries of its table a worker sends as a hint, about 12 bytes each.
	// With fewer, more is searched again; with more, traffic grows.
	hintEntries = 1 << 12
	// sessionUploads bounds the uploads of one worker: it uploads one, and may have broken off
	// another of which the master does not know yet.
	sessionUploads = 2
	// smallUpload is the largest upload that is a small one, in bytes: all together hold 16 MiB.
	smallUpload = 64 << 10
	// handshakePatience is how long a connection may take to come about.
	handshakePatience = 5 * time.Second
	// idlePatience is how long a connection without a call stays. A worker always has its stream.
	idlePatience = time.Minute
	// concurrentStreams bounds the calls in flight on one connection. A worker needs two.
	concurrentStreams = 256
)

// Config holds the settings of the services. Zero stands for the default.
type Config struct {
	// Build names this build. A worker of another build is refused unless AllowOtherBuilds: its node
	// counts cannot be compared. Its facts are as good as any, since certificates are checked. Empty:
	// every build is welcome.
	Build            string
	AllowOtherBuilds bool
	// MaxCertificateBytes bounds one upload. Default 256 MiB: twice the largest part that a
	// worker makes. Uploads are kept in memory while they come, in one and a half times as much at most.
	MaxCertificateBytes int64
	// SessionMessages is the rate of messages on the stream of one worker; more are an offence and end
	// the stream. Unit: messages a second; default 2000. A worker sends one a second while it
	// searches, and two for each lease. Four seconds' worth may come at once. Too small: good workers
	// on tiny budgets are sent away; too large: one worker can keep the master busy.
	SessionMessages float64
	// CallIdle is how long a call of a worker waits for the next message that is due: the hello of a
	// stream, the next chunk of an upload. Then the call is ended and its place is free. Default
	// 1 min. Short: workers on slow lines get no large certificate through; long: uploads whose
	// sender is gone keep their places.
	CallIdle time.Duration
	// UploadRate is how fast an upload has to come on the whole, apart from CallIdle once; a slower
	// one is ended, to be tried again. Unit: bytes a second; default 32 KiB; negative: as slowly as
	// CallIdle allows.
	UploadRate int64
	// Limits bound what the services keep; tests make them small.
	Limits Limits
}

// Limits bound what the services keep. Zero stands for the default: no operator has a reason to turn
// them.
type Limits struct {
	Facts        int // of one message. Default 4096
	Uploads      int // large ones at one time, in memory; more have to try again. Default 8
	SmallUploads int // at one time; each takes some commits, and 1,000 may come a second. Default 256
	Claims       int // certificates whose claims are kept in memory. Default 256
	Burst        int // messages of one worker at once. Default 4 seconds' worth
	Lines        int // of the log at once about workers that come and go; then one a second. Default 20,000
}

// complete fills in the defaults.
func (c *Config) complete() {
	l := &c.Limits
	c.MaxCertificateBytes, c.UploadRate = cmp.Or(c.MaxCertificateBytes, 256<<20), cmp.Or(c.UploadRate, 32<<10)
	c.SessionMessages, c.CallIdle = cmp.Or(c.SessionMessages, 2000), cmp.Or(c.CallIdle, time.Minute)
	l.Facts, l.Uploads, l.Claims = cmp.Or(l.Facts, 4096), cmp.Or(l.Uploads, 8), cmp.Or(l.Claims, 256)
	l.SmallUploads, l.Lines = cmp.Or(l.SmallUploads, 256), cmp.Or(l.Lines, 20_000)
	l.Burst = cmp.Or(l.Burst, int(min(max(1, 4*c.SessionMessages), 1<<30)))
}
