package deploy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
)

// TestNothingIsClaimedUnchecked: the manifests of 6x5 are those that the checker has accepted as a whole,
// and the page claims what they prove: who wins, and as many replies.
func TestNothingIsClaimedUnchecked(t *testing.T) {
	refuted, settled, first, whole := map[string]bool{}, 0, "", ""
	for _, folder := range []string{"results/6x5", "results/6x5/E5-E2xF1", "results/6x5/E5-B2xB1",
		"results/6x5/E5-B2xA1", "results/6x5/B5-D3xE4", "results/6x5/B5-E2xE4", "results/6x5/B1-B4xB3",
		"results/6x5/whole"} {
		manifest, err := os.ReadFile(folder + "/6x5.proof")
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(folder + "/verified.json")
		if err != nil {
			t.Fatal(err)
		}
		var v struct {
			Verified bool
			Report   struct {
				SHA256 string
				Roots  []struct{ Position, Claim, Winner string }
				Parts  struct{ Total, Checked int64 }
			}
		}
		if err := json.Unmarshal(data, &v); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(manifest)
		if r := v.Report; !v.Verified || r.SHA256 != hex.EncodeToString(sum[:]) || r.Parts.Checked != r.Parts.Total {
			t.Errorf("%s: verified %v, %d of %d parts, of %s; the manifest is %x", folder, v.Verified, r.Parts.Checked,
				r.Parts.Total, r.SHA256, sum)
		}
		// The starting position has no arrow, the position after the first move one, and that after a reply two.
		// Settled positions with more arrows lie below open replies.
		for _, r := range v.Report.Roots {
			switch arrows := strings.Count(r.Position, "x"); {
			case arrows == 0:
				whole = r.Winner
			case arrows == 1:
				first = r.Winner
			case arrows == 2 && r.Claim == "win":
				refuted[r.Position] = true
			default:
				settled++
			}
		}
	}
	page, err := os.ReadFile("results/6x5/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, claim := range []string{fmt.Sprintf("%d of 250 replies are refuted", len(refuted)),
		fmt.Sprintf("%d settled positions\n  below open replies", settled),
		map[string]string{"black": "**B1-B4xB3 does not win on 6x5:**"}[first],
		map[string]string{"white": "**The first player wins 6x5**"}[whole]} {
		if claim == "" || !strings.Contains(string(page), claim) {
			t.Errorf("the page does not say: %s", claim)
		}
	}
}

// TestAtlas wants each row of the atlas on its page, with the certificate of its root.
func TestAtlas(t *testing.T) {
	data, err := os.ReadFile("results/atlas.json")
	if err != nil {
		t.Fatal(err)
	}
	var rows []struct {
		Name, Position, Winner string
		Root                   struct{ SHA256 string }
	}
	if err := json.Unmarshal(data, &rows); err != nil || len(rows) < 10 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	page, err := os.ReadFile("results/README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(string(page), "`"+r.Position+"`") || !strings.Contains(string(page), r.Root.SHA256) {
			t.Errorf("the page lacks %s", r.Name)
		}
		if (r.Winner == "") != (r.Root.SHA256 == "") {
			t.Errorf("%s: winner %q with certificate %q", r.Name, r.Winner, r.Root.SHA256)
		}
	}
}
