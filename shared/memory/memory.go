// Package memory gives large tables memory outside the Go heap. The garbage collector neither goes
// through it nor lets as much again become garbage before it collects, and it is given back at
// once.
package memory
