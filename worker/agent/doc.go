// Package agent is the part of a worker that talks to a master: it joins the
// farm, runs the leases it is given on an engine, uploads the evidence for what
// was proved, and reports.
//
// A lease is searched by one goroutine, in slices. What comes out of it are parcels: a certificate
// fragment to upload and the message that names it, a Facts while the lease goes on and a Result at
// its end. Parcels wait in a short queue until the master acknowledges them; they and the lease
// outlive a broken connection. One other goroutine, in [Run], owns the queue and the talk with the
// master, and never waits for the network: a reader, a writer and an uploader do that for it, and
// live as long as one stream.
//
// The next lease is asked for when one has ended, or before, where the wait for it would count
// (worker/agent). That one waits in hand, and goes back to the master when it is called back,
// when the running one takes much longer than its nodes say, and with its stream.
//
// Nothing waits without end: each wait has a setting in [Config].
package agent
