package rpc

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	"amazonsfarm/master/access"
	"amazonsfarm/master/credentials"
	"amazonsfarm/master/loop"
	"amazonsfarm/master/trust"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/identity"
)

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
			wantCode(t, err, codes.PermissionDenied, "credential w1")
		}
		join := func(b *bench, name string) error {
			_, err := b.farm.Join(t.Context(), &farmv1.JoinRequest{Worker: name,
				ProtocolVersion: farmv1.ProtocolVersion,
				RulesVersion:    farmv1.RulesVersion, Build: "this build"})
			return err
		}
		renewed := c.enter(c.issue(credentials.Request{Identity: identity.Identity{Role: identity.Worker, Name: "w1"},
			Renew: true}).Folder)
		for _, name := range []string{"w1", "w1/x", "w1/twin"} {
			wantCode(t, join(b, name), codes.PermissionDenied, "quarantined is the credential w1")
			wantCode(t, join(renewed, name), codes.PermissionDenied, "quarantined is the credential w1")
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
			q.GetOffence() != trust.FalseCertificate ||
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

// TestUploadsOfOneCertificate has several workers of one certificate upload at the same time: they
// cannot hold all places.
func TestUploadsOfOneCertificate(t *testing.T) {
	u := newUploads(4, 4, 1<<20)
	var kept []*loop.Session
	session := func(name, owner string) *loop.Session {
		return &loop.Session{Token: name, Worker: loop.Worker{Name: name},
			Party: trust.Party{Name: owner, Credential: true}}
	}
	for _, name := range []string{"w/1", "w/2", "w/3", "w/4"} {
		s := session(name, "w")
		if u.begin(s, &u.places) == nil {
			kept = append(kept, s)
		}
	}
	if len(kept) != 3 {
		t.Fatalf("workers of one credential have %d of 4 places, want 3", len(kept))
	}
	if p := u.sized(smallUpload); p == u.sized(smallUpload+1) || u.begin(session("w/5", "w"), p) != nil {
		t.Error("there is no place for a small upload beside the large ones")
	} else {
		u.end(session("w/5", "w"), p)
	}
	other := session("other", "other")
	if err := errors.Join(u.begin(other, &u.places), u.begin(other, &u.places)); err != nil {
		t.Error(err)
	}
	wantCode(t, u.begin(other, &u.places), codes.ResourceExhausted, "worker other has 2 uploads")
	u.end(kept[0], &u.places)
	if err := u.begin(kept[0], &u.places); err != nil {
		t.Errorf("a place that was given back: %v", err)
	}
	for _, s := range append(kept, other, other) {
		u.end(s, &u.places)
	}
	if len(u.of)+len(u.places.party) != 0 {
		t.Errorf("%v and %v uploads are still counted", u.of, u.places.party)
	}
}
