package loop

import (
	"strings"
	"testing"
	"time"
)

// TestUploadsKeepTheSteadyClock: a clock that is set while a worker uploads must neither make an offence of the upload
// nor excuse the worker for hours. The steady clock of Go is "m=" in the text of a time.
func TestUploadsKeepTheSteadyClock(t *testing.T) {
	var u Uploads
	if u.underWay(time.Now()) {
		t.Error("an upload is under way before the first one")
	}
	u.Begin()()
	if last := u.last.Load(); !strings.Contains(last.String(), " m=") {
		t.Errorf("%v has no steady clock", last)
	}
	if now := time.Now(); !u.underWay(now) || u.underWay(now.Add(2*uploadRest)) {
		t.Error("an upload that has ended counts for a minute")
	}
}
