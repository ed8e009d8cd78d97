// Package store keeps everything of some campaigns that must survive: the positions of their trees,
// the proved facts, the certificates behind the facts, and the results. The bytes of certificates lie
// in a folder (package evidence), all else in one bbolt file beside it. SCHEMA.md describes every
// byte of both.
//
// # A walk through the package
//
// [Create] makes a store with its first campaign, and [Open] opens one: it locks the file and
// verifies its pages (package page) before bbolt sees them. [Store.AddCampaign] and
// [Store.ChangeCampaign] are for operators. A master reads [Store.Snapshot] and [Store.Hint], and
// then calls [Store.PutCertificate] for each certificate and [Store.Commit] for each step of a tree.
// [Store.SetVerified] notes who has verified a certificate, and [Store.Retract] takes a false one back
// with all facts that name it.
// Every write is a request to one goroutine, which gathers requests into transactions: commit.go
// tells how. [Store.SetResult] keeps the answer of a campaign. Package record turns values into
// bytes and back, and package report is what the commands below say.
//
// The commands of "master store" work on files: [ReadInfo], [CheckFile], [BackupFile], [Compact].
//
// # What the store promises
//
//   - Commit and PutCertificate return after the data is on disk. Acknowledged data survives kill -9
//     and power loss. Of the rest, each commit is there as a whole or not at all.
//   - A fact enters only when its certificate lies whole in the store, and never against a stored
//     fact. A part is on disk before its record.
//   - Data that is read is the data that was written. Every record carries a checksum over its
//     bucket, key and value, the numbers of records are counted, and the page structure of the file
//     is verified before use. Damage is an error that names its place, never a wrong answer and
//     never a crash.
//   - The package never writes to a file of another program or to a damaged store.
//
// # Which file has what
//
//   - store.go: create, open and close; snapshots and figures
//   - commit.go: how writes are gathered into transactions, and what a failed one means
//   - campaigns.go, parties.go, hints.go: the catalogue of campaigns, what is known of parties,
//     hints
//   - evidence.go, retract.go: the catalogue of parts, and how facts are taken back
//   - check.go: what must hold, looked at record by record
//   - backup.go, info.go, options.go, room.go, errors.go: the rest
//
// A reader who wants to know what survives a crash begins with the comment at the top of commit.go,
// and then reads transact in it. A reader who wants to know what is on disk begins with SCHEMA.md.
package store
