// Package deploy has no code: the folder holds what runs a farm and watches it, and the
// documentation for those who do. Its tests hold the files against the programs.
package deploy
