// Package access decides who may call the master and how much: by the credential of a connection, its
// role, and limits on messages, calls and uploads of one identity.
//
// A Guard is asked three times. When a connection is made (transport.go) the other side has to show a
// credential of the cluster's authority, in time and not revoked. When a call is made (guard.go) the
// credential's role has to fit the method. With each message (calls.go) the credential has to be good
// still and the identity within its limits (limits.go). Each refusal is counted by reason and logged.
// Before all that, a Door (door.go) keeps room for connections of those who are known.
package access
