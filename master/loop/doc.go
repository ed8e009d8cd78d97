// Package loop is the heart of a master: one goroutine that owns the trees of all campaigns, steps
// them, and commits. It knows no network: package rpc translates between it and gRPC.
//
// # One turn
//
// Workers, operators and helpers put messages into one bounded queue. A turn of the loop goes like
// this:
//
//  1. Run takes a batch of waiting messages, and a tick when one is due (loop.go).
//  2. It applies each message (message.go): mostly that steps the scheduler, which steps the trees.
//  3. The steps return effects. What must survive goes into the next commit; what tells somebody
//     about it waits as typed data (effects.go).
//  4. The loop commits everything in one transaction.
//  5. Only then it carries out the waiting effects: acknowledgements, leases, cancellations.
//  6. Last it answers questions, which see the state after the commit.
//
// So a worker has been told nothing that is not on disk, and nothing else touches a tree, so a tree
// needs no lock.
//
// # The files, by idea
//
//   - campaign.go: campaigns, how operators add and change them; released.go: what happens to the
//     tree of a campaign that is over; conclude.go: from a settled tree to a verified answer.
//   - session.go: workers and their streams; trust.go: offences, checks and standings (package trust
//     decides, the loop carries out); hints.go: what travels with leases beside facts.
//   - verify.go: the checks of parts, and what is taken back where one does not hold (package checks
//     decides who checks, and remembers what was taken back).
//   - room.go: what happens while the disk is full.
//   - view.go, contributors.go, metrics.go: what people and programs may look at.
package loop
