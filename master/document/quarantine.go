//go:build !js

package document

import (
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
)

// Quarantines lists the parties that may not join.
type Quarantines struct {
	MessageType string       `json:"message_type"` // "quarantines"
	List        []Quarantine `json:"list"`
}

// Quarantine names a party that may not join, and the reason.
type Quarantine struct {
	Name       string    `json:"name"`
	Credential bool      `json:"credential"` // the name is that of a credential
	Since      time.Time `json:"since"`
	Offences   uint32    `json:"offences"`
	Offence    string    `json:"offence"`
	Why        string    `json:"why"`
	Worker     string    `json:"worker"`
	Address    string    `json:"address"`
}

// OfQuarantines makes the document of a master's answer.
func OfQuarantines(r *farmv1.QuarantinesResponse) Quarantines {
	out := Quarantines{MessageType: "quarantines", List: []Quarantine{}}
	for _, q := range r.GetQuarantines() {
		out.List = append(out.List, Quarantine{q.GetName(), q.GetCredential(), time.Unix(q.GetSince(), 0).UTC(),
			q.GetOffences(), q.GetOffence(), q.GetWhy(), q.GetWorker(), q.GetAddress()})
	}
	return out
}
