// Package cli holds what the commands of master and worker share.
//
//   - exit.go: kinds of errors, their exit codes, and how a program runs its commands
//   - flags.go: flags with a range, and answers as text or JSON
//   - usage.go, environment.go: help texts, help with flags in groups, and variables that stand in for flags
//   - size.go, table.go, memory.go: sizes, and tables that take half of the free memory
//   - result.go: the answer about a position, in JSON and in words
//   - status.go, log.go, signals.go: the status line, the logger, one signal to end and two to abort
//   - health.go, version.go, man.go: the commands and flags that every program has
//   - address.go, files.go, mistake.go: addresses and files that flags name, and sentences about wrong ones
//   - rate.go: how fast a count grows
//
// Data goes to standard output, messages to standard error. A flag wins over its environment
// variable, which wins over the default.
//
// # The life of a command
//
// [Execute] is the only way in. It reads flags, then the environment, then runs the command, and
// turns the error that comes out into one line and one exit code. Three things follow from that:
//
//   - A command returns errors and never prints them. It may give an error a kind with [As], and
//     then the exit code follows from the kind.
//   - What is wrong before a command runs is always a usage error: exit code 64, and a sentence
//     that says how the command is called.
//   - A command that has printed its answer may still fail: it returns [As] with a kind and no
//     error, and the process ends with that code without another word.
package cli
