package rpc

import (
	"errors"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
)

// A disk without room must not end a campaign that took weeks. While there is none (Store.Room says
// so at a tick, or a commit fails with ErrNoRoom) nothing is granted and nothing that would have to
// be written is taken: results and facts wait, in the order in which they came, and their workers
// are told why with each tick. The ticks of the tree stand still, so that no lease expires because
// its worker's result waits. What the tree has been stepped for already stays pending. Once there
// is room, the pending is committed, what has waited is taken, and the campaign goes on. Since
// nothing was acknowledged meanwhile, nothing is lost if the master ends: the workers keep it.

// NoRoom marks an error as one that passes when somebody makes room: it matches ErrNoRoom.
func NoRoom(err error) error { return noRoomError{err} }

type noRoomError struct{ error }

func (e noRoomError) Unwrap() error        { return e.error }
func (e noRoomError) Is(target error) bool { return target == ErrNoRoom }

// halt pauses the campaign for want of room.
func (m *Master) halt(why error) {
	if inner := (noRoomError{}); errors.As(why, &inner) {
		why = inner // without what was being done
	}
	if m.full == nil {
		m.cfg.Metrics.spacePauses.Inc()
		m.cfg.Log.Error("the campaign pauses for want of room and goes on by itself once there is some", "reason", why)
	}
	m.full = why
	m.pauses()
	m.tellHeld()
}

// lookForRoom halts or goes on, and returns the messages that have waited. Errors are about the store.
func (m *Master) lookForRoom() (waited []message, err error) {
	if m.full == nil {
		if m.allOver() {
			return nil, nil
		}
		if err := m.store.Room(0); err != nil {
			m.halt(err)
		}
		return nil, nil
	}
	again := false
	for _, c := range m.campaigns() {
		if c.again > 0 {
			c.again--
			again = true
		}
	}
	if again {
		m.tellHeld()
		return nil, nil
	}
	if err := m.store.Room(m.cfg.SpareBytes); err != nil {
		m.halt(err)
		return nil, nil
	}
	if len(m.pending.persist)+len(m.pending.memories) > 0 {
		if err := m.commit(); errors.Is(err, ErrNoRoom) {
			m.halt(err)
			return nil, nil
		} else if err != nil {
			return nil, err
		}
	}
	m.cfg.Log.Warn("there is room again: the campaign goes on")
	m.full = nil
	m.pauses()
	for _, c := range m.campaigns() {
		if c.homeless {
			c.homeless = false
			m.begin(c)
		}
	}
	for _, msg := range m.held {
		msg.session.held = 0
		msg.waited = true
		waited = append(waited, msg)
	}
	m.held = nil
	return waited, nil
}

// hold keeps a message until there is room. Who sends more than a sound worker does is cut off.
func (m *Master) hold(msg incoming) {
	s := msg.session
	if s.held >= m.cfg.MaxHeld {
		msg.link.end(status.Errorf(codes.ResourceExhausted,
			"%d messages of this worker wait for room on the master's disk", s.held))
		return
	}
	s.held++
	m.held = append(m.held, msg)
	m.sendHold(s)
}

// dropHeld forgets what waits of a worker that has come anew: it sends again what was not acknowledged.
func (m *Master) dropHeld(worker string) {
	m.held = slices.DeleteFunc(m.held, func(msg incoming) bool {
		if msg.session.name != worker {
			return false
		}
		msg.session.held = 0
		return true
	})
}

// current reports whether a message is to be taken: its stream is still that of its worker, or it
// has waited and the worker is not back yet.
func (m *Master) current(msg incoming) bool {
	s := msg.session
	if s.link == msg.link {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return msg.waited && s.link == nil && m.byName[s.name] == s
}

// tellHeld tells all workers that they have to wait, and why.
func (m *Master) tellHeld() {
	m.tellAll(m.sendHold)
}

func (m *Master) sendHold(s *session) {
	m.send(s, &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Hold{Hold: &farmv1.Hold{Reason: clip(m.full.Error(),
		512)}}})
}

// merge makes one of several steps' effects of each campaign, so that what waits does not grow with
// time.
func (p *pending) merge() {
	if len(p.persist) < 2 {
		return
	}
	type place struct {
		campaign uint32
		key      amazons.Key
	}
	var list []tree.Persist
	of, at := map[uint32]int{}, map[place]int{}
	for _, e := range p.persist {
		i, ok := of[e.Campaign]
		if !ok {
			i = len(list)
			of[e.Campaign] = i
			list = append(list, tree.Persist{Campaign: e.Campaign})
		}
		all := &list[i]
		for _, n := range e.Nodes {
			if i, ok := at[place{e.Campaign, n.Key}]; ok {
				all.Nodes[i] = n
				continue
			}
			at[place{e.Campaign, n.Key}] = len(all.Nodes)
			all.Nodes = append(all.Nodes, n)
		}
		all.Facts = append(all.Facts, e.Facts...)
		all.Spent, all.Epoch = max(all.Spent, e.Spent), max(all.Epoch, e.Epoch)
		if all.Contradiction == nil {
			all.Contradiction = e.Contradiction
		}
	}
	p.persist = list
}
