package rpc

import (
	"errors"
	"testing"

	"google.golang.org/grpc/codes"
)

// TestOffendersAreBounded has many names send false certificates: no more are counted than the setting says, and those that are quarantined stay
// so while another name can be forgotten.
func TestOffendersAreBounded(t *testing.T) {
	m, _ := newMaster(t, newMemory(), func(c *Config) { c.MaxOffences, c.MaxOffenders = 2, 3 })
	join := func(name string) error {
		_, err := m.open(name, workerInfo{})
		return err
	}
	lie := func(name string, times int) {
		for range times {
			m.caught(&session{name: name}, offenceCertificate, errors.New("false"))
		}
	}
	lie("bad", 2)
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		lie(name, 1)
		if err := join(name); err != nil {
			t.Errorf("after one false certificate %s does not join: %v", name, err)
		}
	}
	if n := len(m.offences); n != 3 {
		t.Errorf("%d names are counted, the limit is 3", n)
	}
	wantCode(t, join("bad"), codes.PermissionDenied, "quarantined")
	if m.offences["e"] != 1 {
		t.Error("the latest name is not counted")
	}
	// With all of them quarantined, one makes room.
	lie("f", 2)
	lie("g", 2)
	lie("h", 2)
	wantCode(t, join("h"), codes.PermissionDenied, "quarantined")
	if n := len(m.offences); n != 3 {
		t.Errorf("%d names are counted, the limit is 3", n)
	}
}
