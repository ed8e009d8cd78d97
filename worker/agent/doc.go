// Package agent is the part of a worker that talks to a master: it joins the farm, runs the leases
// it gets on an engine, uploads the evidence for what was proved, and reports.
//
// # A walk through
//
// [Machine] is the protocol: events in, effects out, the time as an argument. It has no clock,
// goroutine, socket or file. So master/simulate runs thousands of machines in virtual time, and the
// scripts in testdata/machine show what a worker does, message by message.
//
// [Run] drives one machine for real. Its goroutine carries out the effects and never waits: one
// goroutine joins and reads, one writes, one uploads (stream.go), and one works on the engine
// (agent.go). Each tells its end as an event.
//
// A lease goes through these steps:
//
//  1. machine.go asks with Ready. The master answers with a Lease, now or later.
//  2. lease.go searches it in slices. After each slice it gathers: the engine proves what the slice
//     solved, and says what its table knows (hints).
//  3. delivery.go makes a parcel of it: a part to upload, and then the message that names the
//     part. Facts go out while the lease goes on, and a Result at its end.
//     A solved lease whose proof may wait joins others, and group.go gathers their proofs together.
//  4. A parcel waits until the master acknowledges its message. Parcels and the running lease
//     outlive a broken stream; what is not acknowledged is sent again on the next one.
//
// waits.go decides when to ask for the next lease: at the end of the running one, or before, where
// the wait for it would count. The next lease waits in hand. It is returned when the master cancels
// it or the running lease takes much longer than its nodes say, and it ends with its stream.
//
// A cancelled lease ends with what it found until then. A drain cancels the running lease, waits
// until everything is acknowledged, and says Goodbye.
//
// Nothing waits without end: each wait has a setting in [Config] or a constant.
package agent
