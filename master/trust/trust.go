// Package trust keeps what a master knows of each party of workers: its standing, its offences and
// whether it is in quarantine. It is a pure state machine: it holds no clock, lock, file or
// goroutine. The loop of the master owns the one Book, tells it the time with each call, and
// carries out the effects: it ends sessions, counts, logs and writes to the store.
//
// # One record for each party
//
// A party is all workers of one owner: those with one credential name, or one worker name without a
// credential. What a party did well and badly counts for all its workers, so that a liar gains
// nothing from a second process.
//
// # What outlasts the master
//
// A standing outlasts the master, in both directions: results of a proven party are taken at once
// after a restart, and nobody gets rid of an offence by waiting for a restart. After each tick the
// shell writes the changed standings (Changed) in one transaction and reports back (Kept). A crash
// loses the changes since the last tick, and up to an eighth of the positions that a party has
// solved: these change most and count least, so they are written the less often the more there are.
//
// # Room
//
// The Book has room for a limited number of parties. Without credentials a new name costs nothing,
// so records of such names with nothing good in them are forgotten first; see cost.
package trust

import (
	"strings"
	"time"
)

// Party is all workers of one owner. Offences are held against a party, and a party is in quarantine
// or not: all workers with a credential of one name, whatever they call themselves, or, without
// credentials, the workers of one name. In the second case the name is only what a worker says, and
// a quarantined worker can come back under another name.
type Party struct {
	Name       string `json:"name"`
	Credential bool   `json:"certificate"` // Name is the name in an X.509 credential
}

// String says what kind of name it is, and the name.
func (p Party) String() string {
	if p.Credential {
		return "credential " + p.Name
	}
	return "name " + p.Name
}

// Named undoes String.
func Named(text string) Party {
	if name, ok := strings.CutPrefix(text, Party{Credential: true}.String()); ok {
		return Party{name, true}
	}
	return Party{strings.TrimPrefix(text, Party{}.String()), false}
}

// Standing is what is known of a party that is not in quarantine. Field names in JSON are those of
// the store's records.
type Standing struct {
	Party
	Confirmed    int       `json:"confirmed"` // results that another party's search confirmed
	Solved       int       `json:"solved"`    // positions of its leases, with evidence
	Contradicted int       `json:"doubts"`    // results contradicted, less those made up for by confirmed ones
	Forgiven     bool      `json:"doubted"`   // the first contradiction is no offence
	Offences     int       `json:"offences"`  // so far; too many of them are a quarantine
	Seen         time.Time `json:"seen"`      // when one of its workers was there last, or this changed

	// what its workers have searched, for all campaigns of the store; shown to people, and nothing rests on it
	Nodes       uint64  `json:"nodes,omitempty"`
	CoreSeconds float64 `json:"core_seconds,omitempty"`
}

// Empty reports whether nothing is known.
func (s Standing) Empty() bool {
	return s.Confirmed == 0 && s.Solved == 0 && s.Contradicted == 0 && s.Offences == 0 && s.Nodes == 0
}

// bad reports whether something is held against the party.
func (s Standing) bad() bool { return s.Contradicted > 0 || s.Offences > 0 }

// Quarantine says that the workers of a party may not join, and why. Field names in JSON are those of
// the store's records.
type Quarantine struct {
	Party
	Since    time.Time `json:"since"`
	Offences int       `json:"offences"`          // so many
	Offence  string    `json:"offence"`           // kind of the last one
	Why      string    `json:"why"`               // the last one in words
	Worker   string    `json:"worker"`            // the worker that committed it
	Address  string    `json:"address,omitempty"` // of that worker
}

// The kinds of offences: what a sound worker never does, so that nobody commits one by accident.
// They are the values of a metric's label. MaxOffences of them, of any kinds, put a party in
// quarantine. What may be an accident is refused and counted elsewhere and is no offence: a late
// result, a fact whose certificate the store does not have (any more), one search that ends before
// its budget, one contradiction of a proven party.
const (
	FalseCertificate = "false_certificate" // an upload does not prove what it claims, or is no certificate
	UnfoundedClaim   = "unfounded_claim"   // a verdict without a fact, or a fact that its certificate does not state
	ForeignLease     = "foreign_lease"     // the lease is another worker's, or was never granted
	Flood            = "flood"             // more messages a second than a worker may send
	Oversize         = "oversize"          // a message, a chunk or a certificate over its limit
	Malformed        = "malformed"         // a message without a meaning
	Numbers          = "numbers"           // others agree on other numbers for an unsolved position
	Short            = "short"             // one open result after the other that came before its budget
	FalseCheck       = "false_check"       // of a part: it said the opposite of what is so
	Progress         = "progress"          // of a lease, without sense, or after it was cancelled
	Unasked          = "unasked"           // evidence beyond what its leases account for
)

// Kinds are the kinds of offences.
var Kinds = []string{FalseCertificate, UnfoundedClaim, ForeignLease, Flood, Oversize, Malformed, Numbers, Short,
	Progress, FalseCheck, Unasked}

// Offence is one offence of a worker.
type Offence struct {
	Party   Party
	Worker  string // its name
	Address string // from where it came
	Kind    string
	Why     string
	Grave   bool // the party is quarantined at once
}

// Comparison is the outcome of a check: another party searched a position again.
type Comparison struct {
	Party   Party
	Worker  string
	Address string
	Agreed  bool   // false: others agree on something else
	Proven  bool   // the party has shown before what it is worth
	Why     string // not with Agreed
}

// Effect is what the shell has to do after a step: Offended, Contradicted, Quarantined or Forgotten.
type Effect interface{ effect() }

// Offended says that a worker committed an offence.
type Offended struct {
	Offence
	Times int // with this one; 0: the party was in quarantine already, so it does not count
}

// Contradicted says that the first contradiction of a proven party was forgiven.
type Contradicted struct{ Comparison }

// Quarantined says that an offence was one too many. The shell ends the party's sessions, and writes
// the quarantine to the store until QuarantineKept.
type Quarantined struct{ Quarantine }

// Forgotten says that a quarantine was forgotten for want of room. The shell releases the party in
// the store and then calls Released.
type Forgotten struct{ Party Party }

func (Offended) effect()     {}
func (Contradicted) effect() {}
func (Quarantined) effect()  {}
func (Forgotten) effect()    {}
