package command

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"

	"amazonsfarm/master/document"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/testkit/fuzzing"
)

// FuzzAnswers shows operators whatever a master answers, in the ways there are: text that ends with
// a line, or a JSON document, or an error.
func FuzzAnswers(f *testing.F) {
	for i, m := range []proto.Message{
		&farmv1.StatusResponse{
			Campaign: &farmv1.Campaign{Board: "4x4", Root: "4x4", FirstMoves: []string{"A2-A3xA2"}}, State: "running",
			Why: "one position is leased", RootPhi: 7, RootDelta: 9,
			FirstMoves: []*farmv1.FirstMove{{Move: "A2-A3xA2", Phi: 1, Delta: 1},
				{Move: "B1-B2xB1", Verdict: farmv1.Verdict_VERDICT_WON}}, CertificateSha256: "00", Seconds: 3,
			Winner: "first",
		},
		&farmv1.WorkersResponse{Workers: []*farmv1.Worker{{Name: "w", Cores: 3, Lease: 4, Position: "x",
			LeaseSeconds: 12, Nodes: 123456789}, nil}},
		&farmv1.ExploreResponse{Position: ".BB./B..B/W..W/.WW. w",
			Known: &farmv1.Known{Phi: 3, Verdict: 2, Basis: "fact"}, Line: []string{"A2-A3xA2"},
			Moves: []*farmv1.ExploredMove{{Move: "A2-A3xA2", After: &farmv1.Known{Verdict: 1}}, {}}},
	} {
		data, err := proto.Marshal(m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(i), data)
	}
	f.Fuzz(func(t *testing.T, which uint8, data []byte) {
		if len(data) > 1<<14 {
			return
		}
		fuzzing.Within(t, 10*time.Second, 64<<20, func() {
			switch which % 3 {
			case 0:
				r := new(farmv1.StatusResponse)
				if proto.Unmarshal(data, r) != nil {
					return
				}
				document, line := showStatus(r)
				if _, err := json.Marshal(document); err != nil || !strings.HasSuffix(line, "\n") {
					t.Fatalf("%+v, %q, %v", document, line, err)
				}
				if statusReport(r) == "" {
					t.Fatal("nothing is reported")
				}
			case 1:
				r := new(farmv1.WorkersResponse)
				if proto.Unmarshal(data, r) == nil && (workersReport(r) == "") != (len(r.GetWorkers()) == 0) {
					t.Fatal("nothing is reported")
				}
			case 2:
				r := new(farmv1.ExploreResponse)
				if proto.Unmarshal(data, r) != nil {
					return
				}
				p, err := amazons.ParsePosition(r.GetPosition())
				if err != nil {
					return
				}
				d := document.OfPosition(p, r)
				if text, err := json.Marshal(d); err == nil && !json.Valid(text) || exploreReport(p, nil, d, 5) == "" {
					t.Fatalf("%s", text)
				}
			}
		})
	})
}
