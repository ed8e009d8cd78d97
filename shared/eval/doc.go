// Package eval decides positions without search, by static rules, and gives the reasons.
//
// # From a position to a verdict
//
// [Judge.Evaluate] tries the rules from the cheapest to the dearest and stops at the first
// [Verdict] that is not [Open]:
//
//  1. The side to move has no move: Lost. This is leaf rule 1 of a certificate.
//  2. The counting lemma ([Evaluate]; leaf rules 2a to 2c): one side has more plods in squares that
//     only it can reach than the other side has moves at most. A plod steps to a touching square
//     and shoots back, so it uses up one square.
//  3. The sum of the areas ([Judge]; Song and Müller 2014, section IV). The position falls apart
//     into areas that never touch again. A database knows the value of small ones. For the others
//     the judge finds for each side P how many moves P is sure of: in territories, which blockers
//     keep closed, and in contested areas, where O makes all moves but P's safe ones.
//  4. Local search: where few empty squares are left in doubt, they are played out.
//  5. A closing move ([Judge.Closing]): one first move that shuts the other side out, so that rule 3
//     then decides.
//
// A certificate may use rules 1 and 2 as leaves, and plain forms of rules 3 and 5 ([Plain], which calls
// the latter rule 4); the checker knows only these. The other rules save search, and the proof is refined
// below them.
//
// [Evaluate] also returns the [Features] from which a search takes its first numbers.
//
// # Soundness
//
// Every rule is a theorem with a source; tests compare each with exhaustive search on random
// positions. A wrong verdict would still never reach an answer, because extraction of the proof
// searches below every rule that the checker does not know.
//
// # Where to read
//
//   - verdict.go, evaluate.go, plain.go, rule4.go: the verdict, the counting lemma, the leaf rules.
//   - judge.go: the sum of areas, from [Judge.Evaluate] down to what one side is sure of.
//   - territory.go, contest.go: the two kinds of areas of that side.
//   - tally.go: lower bounds of games and their sum for one side.
//   - local.go, guarded.go, closing.go: what is played out, and closing moves.
//   - explain.go, explain_forms.go: the same judgement with its reasons, for people.
//
// What each rule saves and costs is measured in deploy/docs/results/ablation.md.
package eval
