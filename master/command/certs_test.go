package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"amazonsfarm/master/credentials"
)

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left") }

// TestFullDisk: credentials that cannot be printed are one error, and hide no other.
func TestFullDisk(t *testing.T) {
	var f certsFlags
	c := f.command(&cobra.Command{}, func([]string) ([]credentials.Issued, error) {
		return make([]credentials.Issued, 3), errors.New("not all were made")
	})
	c.SetOut(full{})
	err := c.RunE(c, nil)
	if err == nil || strings.Count(err.Error(), "no space left") != 1 || !strings.Contains(err.Error(), "not all") {
		t.Errorf("%q", err)
	}
}
