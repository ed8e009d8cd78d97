package agent_test

import (
	"fmt"
	"time"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/worker/agent"
)

// A machine is told what happens, and says what to do. Here it joins a master, asks for a lease and
// has the lease's position searched.
func ExampleMachine() {
	m, err := agent.NewMachine(agent.Config{Name: "w1", Cores: 1}, 0)
	if err != nil {
		panic(err)
	}
	root, _ := amazons.ParsePosition("4x4")
	lease := &farmv1.Lease{Id: 1, Epoch: 1, BudgetNodes: 5000,
		Key: farmv1.WriteKey(root.State().CanonicalKey(root.Board))}
	for _, event := range []agent.Event{
		agent.Tick{},
		agent.Joined{Session: &farmv1.JoinResponse{Session: "one", HeartbeatSeconds: 1,
			Campaign: &farmv1.Campaign{Board: "4x4", Root: root.String()}}},
		agent.Received{Message: &farmv1.WorkResponse{Kind: &farmv1.WorkResponse_Lease{Lease: lease}}},
		agent.Searched{Result: agent.Result{Nodes: 5000}},
		agent.Gathered{},
	} {
		fmt.Printf("%T\n", event)
		for _, effect := range m.Step(time.Second, event) {
			switch e := effect.(type) {
			case agent.Send:
				fmt.Printf("  send %T\n", e.Message.Kind)
			case agent.Search:
				fmt.Printf("  search %d nodes\n", e.Job.Budget)
			default:
				fmt.Printf("  %T\n", e)
			}
		}
	}
	// Output:
	// agent.Tick
	//   agent.Join
	// agent.Joined
	//   agent.Equip
	//   send *farmv1.WorkRequest_Hello
	//   send *farmv1.WorkRequest_Ready
	// agent.Received
	//   search 5000 nodes
	// agent.Searched
	//   agent.Gather
	// agent.Gathered
	//   send *farmv1.WorkRequest_Result
	//   send *farmv1.WorkRequest_Ready
}
