// Package cli holds what the commands of master and worker share: sizes, exit
// codes, flags with an environment variable behind them, signals, the logger, the result of a
// solved position in JSON and in words, and the status line.
//
// Data goes to standard output, messages to standard error. A flag wins over its
// environment variable, which wins over the default.
package cli
