package loop

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"amazonsfarm/master/trust"
)

// maxContributors bounds the parties that people are shown.
const maxContributors = 100

// Contributor is a party that has searched something, now or in an earlier session, also as programs read
// it. Fields may be added, never renamed.
type Contributor struct {
	Name        string    `json:"name"`  // of the credential, or of the worker
	Nodes       uint64    `json:"nodes"` // in results, for all campaigns of the store
	CoreSeconds float64   `json:"core_seconds"`
	Here        int       `json:"workers"` // that are connected
	Seen        time.Time `json:"seen"`    // to within an hour
}

// Contributors asks the loop for the parties that have searched most, those with the most nodes first.
func (l *Loop) Contributors(ctx context.Context) ([]Contributor, error) {
	return ask(ctx, l, func() []Contributor {
		list, here := []Contributor{}, map[trust.Party]int{}
		for _, s := range l.crew.byToken {
			if s.link != nil {
				here[s.Party]++
			}
		}
		for _, p := range l.book.Standings() {
			if p.Nodes > 0 {
				list = append(list, Contributor{p.Name, p.Nodes, p.CoreSeconds, here[p.Party], p.Seen.UTC()})
			}
		}
		slices.SortFunc(list, func(a, b Contributor) int {
			return cmp.Or(cmp.Compare(b.Nodes, a.Nodes), strings.Compare(a.Name, b.Name))
		})
		return list[:min(len(list), maxContributors)]
	})
}
