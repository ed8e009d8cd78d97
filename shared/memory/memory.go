// Package memory gives large tables memory outside the Go heap. The garbage collector does not walk
// through such memory and does not count it when it decides to collect. Release gives it back to the
// system at once.
package memory
