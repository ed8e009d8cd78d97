package svg_test

import (
	"fmt"
	"os"

	"amazonsfarm/shared/svg"
)

func Example() {
	w := svg.Begin(os.Stdout, 20, 10)
	w.Open("g", "fill", "none")
	w.Element("circle", "cx", 5, "cy", 5, "r", 2.25)
	w.Close()
	w.Label("text", "1 < 2", "x", 10, "y", 5)
	fmt.Println("error:", w.End())
	// Output:
	// <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10">
	// <g fill="none">
	// <circle cx="5" cy="5" r="2.3"/>
	// </g>
	// <text x="10" y="5">1 &lt; 2</text>
	// </svg>
	// error: <nil>
}
