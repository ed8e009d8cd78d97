package checker

import (
	"context"
	"errors"
	"fmt"
)

// A certificate is checked; the report says what it proves.
func ExampleCheckFile() {
	report, err := CheckFile(context.Background(), "../proof/testdata/format1.amzcert", Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, r := range report.Roots {
		fmt.Printf("%s: %s wins\n", r.Position, r.Winner)
	}
	// Output: .BB./B..B/W..W/.WW. w: black wins
}

// A certificate that uses the counting rule does not hold by the rules of the game alone. The fault
// names the first position that lacks something.
func ExampleCheckFile_rulesOnly() {
	_, err := CheckFile(context.Background(), "../proof/testdata/format1.amzcert",
		Options{RulesOnly: true})
	var fault *Fault
	fmt.Println(errors.As(err, &fault) && fault.Kind == FaultReply)
	// Output: true
}
