package agent

import (
	"fmt"
	"slices"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// campaign is one of the questions of a master. Two masters may give one number to different
// campaigns, so campaigns are compared whole.
type campaign struct {
	number uint32
	root   string // as text
	board  amazons.Board
	rules  bool // rules only
}

// campaignOf reads a campaign of the wire. Errors wrap ErrProtocol.
func campaignOf(m *farmv1.Campaign) (campaign, error) {
	root, err := farmv1.ReadRoot(m)
	if err != nil {
		return campaign{}, fmt.Errorf("%w: %v", ErrProtocol, err)
	}
	return campaign{m.GetNumber(), root.String(), root.Board, m.GetRulesOnly()}, nil
}

// maxCampaigns bounds the campaigns of one master that a worker remembers, some hundred bytes each:
// more than any master has.
const maxCampaigns = 1 << 14

// note remembers a campaign that a lease names. The error wraps ErrProtocol.
func (m *Machine) note(c campaign) error {
	if _, known := m.campaigns[c.number]; !known && len(m.campaigns) >= maxCampaigns {
		return fmt.Errorf("%w: it names more than %d campaigns", ErrProtocol, maxCampaigns)
	}
	m.campaigns[c.number] = c
	return nil
}

// meet notes the campaigns of the master that was joined. It drops parcels for other campaigns,
// whose numbers mean something else to this master, and cancels a lease of another campaign.
func (m *Machine) meet(r *farmv1.JoinResponse) error {
	all := r.GetCampaigns()
	if len(all) > maxCampaigns {
		return fmt.Errorf("%w: it names %d campaigns, where %d are allowed", ErrProtocol, len(all), maxCampaigns)
	}
	if len(all) == 0 {
		all = []*farmv1.Campaign{r.GetCampaign()}
	}
	m.campaigns = map[uint32]campaign{}
	for i, c := range all {
		c, err := campaignOf(c)
		if err != nil {
			return err
		}
		if i == 0 {
			m.first = c
		}
		m.campaigns[c.number] = c
	}
	m.waiting = slices.DeleteFunc(m.waiting, func(p *parcel) bool { return !m.wanted(p) })
	if m.running != nil && m.campaigns[m.running.of.number] != m.running.of {
		m.cancel()
	}
	return nil
}

// wanted reports whether a parcel is for a campaign of the present master. It counts and logs the
// other ones, which are dropped.
func (m *Machine) wanted(p *parcel) bool {
	if m.campaigns[p.of.number] == p.of {
		return true
	}
	m.c.Log.Warn("results are dropped: the master has another campaign of that number", "campaign", p.of.number,
		"root", p.of.root)
	m.c.Stats.Refused.Add(1)
	return false
}
