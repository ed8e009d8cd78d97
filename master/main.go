// Command master solves boards of the game of Amazons and proves the answers.
//
//	master solve BOARD            a whole farm in one process
//	master serve --store FILE     a farm whose workers run elsewhere
//	master status|explore|campaign|pause|resume|drain|quarantine|health
//	                              talk to a serving master
//	master verify|proof|web       check a certificate, look at it, or make a site of it
//	master store|evidence|import  look after stores and the parts of proofs, or make a store from an archive
//	master certs                  look after credentials
//	master forecast|simulate BOARD
//	                              estimate the work; farms in virtual time
//
// The commands are in package command, and the exit codes in package program.
package main

import (
	"os"

	"amazonsfarm/master/program"
)

func main() { os.Exit(program.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }
