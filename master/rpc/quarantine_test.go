package rpc

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/access"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/tree"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
)

// TestOffendersAreBounded has many names send false certificates: no more are counted than the
// setting says, and those that are quarantined stay so while another name can be forgotten.
func TestOffendersAreBounded(t *testing.T) {
	store := newMemory()
	m, _ := newMaster(t, store, func(c *Config) { c.MaxOffences, c.MaxOffenders = 2, 3 })
	join := func(name, owner string) error {
		_, err := m.open(name, workerInfo{owner: owner})
		return err
	}
	lie := func(name, owner string, times int) {
		for range times {
			m.caught(&session{name: name, info: workerInfo{owner: owner}}, offenceCertificate, errors.New("false"))
		}
	}
	lie("bad/1", "bad", 2)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		lie(name, "", 1)
		if err := join(name, ""); err != nil {
			t.Errorf("after one false certificate %s does not join: %v", name, err)
		}
	}
	if n := len(m.standings); n != 3 {
		t.Errorf("%d names are counted, the limit is 3", n)
	}
	wantCode(t, join("bad", "bad"), codes.PermissionDenied, "quarantined")
	if err := join("bad", ""); err != nil {
		t.Errorf("who only says that its name is that of a quarantined certificate does not join: %v", err)
	}
	if m.standings[Party{"e", false}] == nil {
		t.Error("the latest name is not counted")
	}
	// With all of them quarantined, one without a certificate makes room, in the store as well.
	lie("f", "", 2)
	lie("g", "", 2)
	lie("h", "", 2)
	wantCode(t, join("h", ""), codes.PermissionDenied, "quarantined")
	wantCode(t, join("bad/2", "bad"), codes.PermissionDenied, "quarantined")
	if n := len(m.standings); n != 3 || len(store.quarantines) != 3 {
		t.Errorf("%d parties are counted and %d quarantines stored, the limit is 3", n, len(store.quarantines))
	}
}

// TestQuarantineOfCertificate quarantines a worker w1 by its lies. It cannot come back under
// another name of the same certificate, nor with a new certificate of that name, and what another
// process has open with it is ended; another certificate is not touched. A worker cannot lift it,
// an operator can, and everything is counted and shown.
func TestQuarantineOfCertificate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := startCluster(t, true, access.Limits{})
		folder := c.member(identity.Worker, "w1", 0)
		b := c.enter(folder)
		liar, twin := b.worker("w1"), c.enter(folder).worker("w1/twin")
		good := c.enter(c.member(identity.Worker, "w2", 0)).worker("w2")
		boss := c.enter(c.member(identity.Operator, "boss", 0))
		for range 3 {
			if _, err := liar.upload([]byte("trust me")); err == nil {
				t.Fatal("a lie is taken")
			}
		}
		for _, w := range []*worker{liar, twin} {
			_, err := w.stream.Recv()
			wantCode(t, err, codes.PermissionDenied, "certificate w1")
		}
		join := func(b *bench, name string) error {
			_, err := b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: name, ProtocolVersion: farmv1.ProtocolVersion,
				RulesVersion: farmv1.RulesVersion, Build: "this build"})
			return err
		}
		renewed := c.enter(c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Worker, Name: "w1"},
			Renew: true}).Folder)
		for _, name := range []string{"w1", "w1/x", "w1/twin"} {
			wantCode(t, join(b, name), codes.PermissionDenied, "quarantined is the certificate w1")
			wantCode(t, join(renewed, name), codes.PermissionDenied, "quarantined is the certificate w1")
		}
		wantCode(t, join(b, "w2"), codes.PermissionDenied, "cannot join as w2")
		good.lease()

		time.Sleep(2 * time.Second)
		if n := b.figure("amazons_master_quarantined_joins_total"); n != 6 {
			t.Errorf("%v tries to join are counted", n)
		}
		if n := c.metric("quarantined_parties", ""); n != 1 {
			t.Errorf("%v parties are shown as quarantined", n)
		}
		if n := boss.status().GetQuarantined(); n != 1 {
			t.Errorf("the status has %d parties", n)
		}
		list, err := boss.control.Quarantines(t.Context(), &farmv1.QuarantinesRequest{})
		if err != nil || len(list.GetQuarantines()) != 1 {
			t.Fatalf("%v, %v", list, err)
		}
		if q := list.GetQuarantines()[0]; q.GetName() != "w1" || !q.GetCredential() || q.GetOffences() != 3 ||
			q.GetOffence() != offenceCertificate ||
			q.GetWorker() != "w1" || q.GetWhy() == "" || q.GetSince() != time.Now().Add(-2*time.Second).Unix() {
			t.Errorf("listed is %v", q)
		}
		_, err = b.control.Release(t.Context(), &farmv1.ReleaseRequest{Name: "w1"})
		wantCode(t, err, codes.PermissionDenied, "operator")
		_, err = b.control.Quarantines(t.Context(), &farmv1.QuarantinesRequest{})
		wantCode(t, err, codes.PermissionDenied, "operator")
		_, err = boss.control.Release(t.Context(), &farmv1.ReleaseRequest{Name: "w2"})
		wantCode(t, err, codes.NotFound, "w2")
		if list, err = boss.control.Release(t.Context(), &farmv1.ReleaseRequest{Name: "w1"}); err != nil ||
			len(list.GetQuarantines()) != 1 {
			t.Fatalf("released are %v, %v", list, err)
		}
		if err := join(b, "w1/x"); err != nil {
			t.Errorf("who was released does not join: %v", err)
		}
		if n := boss.status().GetQuarantined(); n != 0 {
			t.Errorf("after the release the status has %d parties", n)
		}
	})
}

// TestQuarantineIsKept has the next master know who is quarantined, also where the disk was full at
// first, and who was released.
func TestQuarantineIsKept(t *testing.T) {
	s := newMemory()
	quarantined := func() *Master {
		t.Helper()
		m, _ := newMaster(t, s, nil)
		return m
	}
	m := quarantined()
	s.fill(errFull)
	for range 3 {
		m.caught(&session{name: "w"}, offenceFlood, errors.New("too many"))
	}
	m.saveQuarantines()
	if len(s.quarantines) != 0 {
		t.Fatal("it is stored where there is no room")
	}
	if _, err := m.Release("w"); !errors.Is(err, ErrNoRoom) {
		t.Errorf("a release that cannot be kept: %v", err)
	}
	s.fill(nil)
	m.saveQuarantines()
	next := quarantined()
	_, err := next.open("w", workerInfo{})
	wantCode(t, err, codes.PermissionDenied, "quarantined is the name w: 3 times")
	if _, err := next.Release("w"); err != nil {
		t.Fatal(err)
	}
	if _, err := next.Release("w"); !errors.Is(err, ErrNotQuarantined) {
		t.Errorf("released twice: %v", err)
	}
	if _, err := quarantined().open("w", workerInfo{}); err != nil {
		t.Errorf("a released worker does not join the next master: %v", err)
	}
}

// TestUploadsOfOneCertificate has several workers of one certificate upload at the same time: they
// cannot hold all places.
func TestUploadsOfOneCertificate(t *testing.T) {
	m, _ := newMaster(t, newMemory(), func(c *Config) { c.MaxUploads = 4 })
	var taken []*session
	for _, name := range []string{"w/1", "w/2", "w/3", "w/4"} {
		s := &session{name: name, info: workerInfo{owner: "w"}}
		if m.beginUpload(s) == nil {
			taken = append(taken, s)
		}
	}
	if len(taken) != 3 {
		t.Fatalf("workers of one certificate hold %d of 4 places, want 3", len(taken))
	}
	other := &session{name: "other", info: workerInfo{owner: "other"}}
	if err := errors.Join(m.beginUpload(other), m.beginUpload(other)); err != nil {
		t.Error(err)
	}
	wantCode(t, m.beginUpload(other), codes.ResourceExhausted, "worker other has 2 uploads")
	m.endUpload(taken[0])
	if err := m.beginUpload(taken[0]); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
	for _, s := range append(taken, other, other) {
		m.endUpload(s)
	}
	if len(m.uploading) != 0 {
		t.Errorf("%v uploads are still counted", m.uploading)
	}
}

// TestContradictedNumbers: numbers that others contradict are an offence, but for the first ones of
// who has shown what it is worth; a confirmed result makes up for one contradiction, but not for an
// offence of another kind.
func TestContradictedNumbers(t *testing.T) {
	for _, p := range []Party{{"w", true}, {"w", false}, {"name w", true}} {
		if got := partyNamed(p.String()); got != p {
			t.Errorf("%v is read as %v", p, got)
		}
		store := newMemory()
		m, _ := newMaster(t, store, nil)
		proven := true
		said := func(agreed bool) {
			m.checked(tree.Checked{Worker: "w/1", Party: p.String(), Confirmed: agreed, Proven: proven,
				Why: "it said 1 and 2"})
		}
		said(true)
		if len(m.standings) != 0 {
			t.Error("a confirmed result counts as something")
		}
		said(false)
		if o := m.standings[p]; o == nil || o.Offences != 0 || o.Doubts != 1 {
			t.Errorf("after one contradiction counted is %+v", o)
		}
		said(false)
		if o := m.standings[p]; o == nil || o.Offences != 1 || o.Doubts != 2 {
			t.Errorf("after two contradictions counted is %+v", o)
		}
		said(true)
		said(true)
		proven = false
		said(false)
		proven = true
		if o := m.standings[p]; o == nil || o.Offences != 1 || o.Doubts != 1 {
			t.Errorf("after one contradiction of a stranger counted is %+v", o)
		}
		said(true)
		for range 20 {
			said(false)
			said(false)
			said(true)
			said(true)
		}
		if len(m.standings) != 0 || len(store.quarantines) != 0 {
			t.Errorf("%v is suspected although as much was confirmed: %v", p, m.standings)
		}
		m.offended(p, "w/1", "", offenceFlood, errors.New("too many"))
		said(false)
		said(true)
		said(true)
		if o := m.standings[p]; o == nil || o.Offences != 1 || o.Doubts != 0 {
			t.Errorf("counted is %+v, want the flood", o)
		}
		said(false)
		said(false)
		if m.standings[p].quarantine != nil {
			t.Error("the first contradiction counts as an offence")
		}
		said(false)
		if q := store.quarantines[p]; q.Offence != offenceNumbers || q.Worker != "w/1" || q.Why != "it said 1 and 2" {
			t.Errorf("quarantined is %v as %+v", p, q)
		}
		said(true)
		if m.standings[p].quarantine == nil {
			t.Error("a confirmed result lifts a quarantine")
		}
	}
}

// TestTakenBack: at the next tick all campaigns take back, once, what a party has said that was
// quarantined, also where it has left before.
func TestTakenBack(t *testing.T) {
	m, _ := newMaster(t, newMemory(), nil)
	party := Party{Name: "w", Certificate: true}
	for range m.cfg.MaxOffences {
		m.offended(party, "w/1", "", offenceNumbers, errors.New("it said 1 and 2"))
	}
	m.offended(Party{Name: "other"}, "other", "", offenceFlood, errors.New("too many"))
	var told []tree.Event
	for range 2 {
		m.takeBack(func(_ *session, _ uint64, ev tree.Event, _ ...string) { told = append(told, ev) })
	}
	if len(told) != 1 || told[0] != (tree.Distrusted{Party: party.String()}) {
		t.Errorf("the trees were told %v", told)
	}
}
