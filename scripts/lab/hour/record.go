package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"amazonsfarm/master/store"
)

// process is what the system says about one process. Sizes are in bytes.
type process struct {
	CPU   float64 `json:"cpu"`  // processor seconds, user and system
	Anon  float64 `json:"anon"` // resident, not of a file: heap, stacks, table
	File  float64 `json:"file"` // resident, of a file: the store's or the database's map, the program
	FDs   int     `json:"fds"`
	Alive bool    `json:"alive"`
}

// program is what a Go program says about itself in its metrics. Sizes are in bytes.
type program struct {
	Goroutines float64 `json:"goroutines"`
	// heap that the last collection found in use: half of where the next one begins, with GOGC=100
	Live    float64 `json:"live"`
	Threads float64 `json:"threads"`
}

// worker is one worker at one moment.
type worker struct {
	Name string `json:"name"`
	process
	program
	Seen    bool    `json:"seen"`    // its metrics were read
	Entries float64 `json:"entries"` // proved won positions in the certificates it uploaded
	Joins   float64 `json:"joins"`
}

// A sample is what was seen at one moment.
type sample struct {
	Seconds float64 `json:"seconds"`
	Phase   string  `json:"phase"` // before, run or after: whether workers are about
	process
	program
	Nodes        float64  `json:"nodes"`   // of committed results
	Running      float64  `json:"running"` // of leases in flight, as their workers say
	Results      float64  `json:"results"`
	Granted      float64  `json:"granted"`
	Expired      float64  `json:"expired"`
	Refused      float64  `json:"refused"`
	Leases       float64  `json:"leases"`
	Tree         float64  `json:"tree"`
	Facts        float64  `json:"facts"`
	Proved       float64  `json:"proved"` // positions that the master remembers to verify uploads
	Certificates float64  `json:"certificates"`
	Connected    float64  `json:"connected"` // workers
	Streams      float64  `json:"streams"`   // of the work call, begun and not ended
	Offences     float64  `json:"offences"`
	Doubts       float64  `json:"doubts"`      // comparisons whose other side contradicts
	Compared     float64  `json:"compared"`    // results with another search of the same position
	Store        float64  `json:"store"`       // bytes of the file
	WorkersCPU   float64  `json:"workers_cpu"` // processor seconds of all workers that ever were
	Workers      []worker `json:"workers"`
}

// An event is the end or the begin of a worker.
type event struct {
	Seconds float64 `json:"seconds"`
	What    string  `json:"what"` // join, term, kill, interrupt
	Name    string  `json:"name"`
	Code    int     `json:"code"` // exit code, -1 for one that was killed
	Took    float64 `json:"took"` // seconds from the first signal to the end
}

// layout is what the store's file was made of at one moment.
type layout struct {
	Seconds float64    `json:"seconds"`
	Info    store.Info `json:"info"`
}

// missed says what could not be seen.
type missed struct {
	Seconds float64 `json:"seconds"`
	Why     string  `json:"why"`
}

// final is how the master ended.
type final struct {
	Code    int     `json:"code"`
	Stood   float64 `json:"stood"`   // seconds not counted, in which all processes were stopped
	Checked string  `json:"checked"` // empty: "store check" found nothing
}

// record is a line of the file with all that was seen; one field is there.
type record struct {
	Setup  *setup  `json:"setup,omitempty"`
	Sample *sample `json:"sample,omitempty"`
	Event  *event  `json:"event,omitempty"`
	Layout *layout `json:"layout,omitempty"`
	Missed *missed `json:"missed,omitempty"`
	Final  *final  `json:"final,omitempty"`
}

// run is all that was seen.
type run struct {
	Setup   setup
	Samples []sample
	Events  []event
	Layouts []layout
	Missed  []missed
	Final   *final
}

// readRun reads what a run has written, also one that goes on.
func readRun(file string) (run, error) {
	f, err := os.Open(file)
	if err != nil {
		return run{}, err
	}
	defer f.Close()
	var r run
	d := json.NewDecoder(bufio.NewReader(f))
	for {
		var l record
		switch err := d.Decode(&l); {
		case err == io.EOF:
			return r, nil
		case err != nil:
			return run{}, fmt.Errorf("%s: %w", file, err)
		}
		switch {
		case l.Setup != nil:
			r.Setup = *l.Setup
		case l.Sample != nil:
			r.Samples = append(r.Samples, *l.Sample)
		case l.Event != nil:
			r.Events = append(r.Events, *l.Event)
		case l.Layout != nil:
			r.Layouts = append(r.Layouts, *l.Layout)
		case l.Missed != nil:
			r.Missed = append(r.Missed, *l.Missed)
		case l.Final != nil:
			r.Final = l.Final
		}
	}
}
