// Package store keeps everything of a campaign that must survive: the tree's
// nodes, the proved facts, the certificates that are their evidence, and the final
// result. It is one bbolt file; SCHEMA.md describes every byte of it.
//
// What the store promises:
//
//   - Commit and Upload.Close return after the data is on disk. What they have
//     acknowledged survives kill -9 and power loss; of what they have not
//     acknowledged, each commit is there as a whole or not at all.
//   - A fact enters only when its certificate lies whole in the store, and never when a
//     stored fact says otherwise.
//   - Whatever is read back is what was written: every record carries a checksum over
//     its bucket, key and value, the numbers of records are counted, and the page
//     structure of the file is verified before it is used. Damage is an error that
//     names its place, never a wrong answer and never a crash.
//   - A file that is not a store of this program, or is a damaged one, is never written to.
package store
