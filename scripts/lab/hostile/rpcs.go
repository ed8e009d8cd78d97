package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	reflectionpb "google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"

	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/scripts/lab/farm"
	"amazonsfarm/shared/amazons"
	"amazonsfarm/worker/engine"
)

// calm is how long after the last call the master is looked at again: idle connections are closed and
// sessions without a stream forgotten by then.
const calm = 150 * time.Second

// The most that may be left of a bout of calls once all is calm: goroutines and open files beyond those
// before, and bytes of live heap.
const (
	mostGoroutines = 40
	mostFiles      = 20
	mostHeap       = 256 << 20
)

// fuzzer calls every method of a running master, in any order, with messages that are drawn: fields of
// any value, among them what the master has answered before, and bytes that were changed.
type fuzzer struct {
	methods []protoreflect.MethodDescriptor
	parts   []engine.Part // true ones

	mu    sync.Mutex
	seen  map[string][]protoreflect.Value // by the name and kind of the field
	calls map[string]map[codes.Code]int   // by method
}

// maxSeen bounds the values that are kept of one field.
const maxSeen = 64

func newFuzzer() *fuzzer {
	f := &fuzzer{seen: map[string][]protoreflect.Value{}, calls: map[string]map[codes.Code]int{}}
	for _, file := range []protoreflect.FileDescriptor{farmv1.File_proto_farm_v1_farm_proto,
		healthpb.File_grpc_health_v1_health_proto, reflectionpb.File_grpc_reflection_v1_reflection_proto} {
		for i := range file.Services().Len() {
			list := file.Services().Get(i).Methods()
			for j := range list.Len() {
				if m := list.Get(j); m.Name() != "Drain" { // it ends the master, as it should
					f.methods = append(f.methods, m)
				}
			}
		}
	}
	for _, text := range []string{"4x4", "4x5", "6x6", "0x0"} {
		f.keep("position:string", protoreflect.ValueOfString(text))
	}
	return f
}

// held is the name of the campaign that goes on, and ours that of the honest worker: nobody may take it
// where there are no credentials.
const held, ours = "held", "honest-0"

// make makes true parts, whose facts messages may name.
func (f *fuzzer) make(ctx context.Context, board amazons.Board, r *rand.Rand) error {
	p, err := newParts(board)
	for range 8 {
		if err != nil {
			break
		}
		var made engine.Part
		if made, err = p.honest(ctx, r); err == nil {
			f.parts = append(f.parts, made)
			f.harvest((&farmv1.Facts{Facts: farmv1.WriteFacts(made.Facts)}).ProtoReflect())
		}
	}
	return err
}

// place names where values of a field are kept. What one message calls id, others call lease.
func place(d protoreflect.FieldDescriptor) string {
	name := string(d.Name())
	switch name {
	case "id":
		name = "lease"
	case "certificate_sha256":
		name = "sha256"
	case "number", "name":
		name = "campaign"
	}
	return name + ":" + d.Kind().String()
}

func (f *fuzzer) keep(name string, v protoreflect.Value) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if v.Interface() == ours {
		return
	}
	if list := f.seen[name]; len(list) < maxSeen {
		f.seen[name] = append(list, v)
	} else {
		list[rand.IntN(maxSeen)] = v
	}
}

// harvest keeps the values of a message.
func (f *fuzzer) harvest(m protoreflect.Message) {
	m.Range(func(d protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		switch {
		case d.IsMap():
		case d.IsList():
			for i := range min(v.List().Len(), 8) {
				if d.Message() != nil {
					f.harvest(v.List().Get(i).Message())
				} else {
					f.keep(place(d), v.List().Get(i))
				}
			}
		case d.Message() != nil:
			f.harvest(v.Message())
		default:
			f.keep(place(d), v)
		}
		return true
	})
}

// fill draws the fields of a message.
func (f *fuzzer) fill(r *rand.Rand, m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		d := fields.Get(i)
		switch {
		case r.IntN(8) == 0 || d.IsMap() || d.Message() != nil && depth > 3:
		case d.IsList():
			list := m.Mutable(d).List()
			for range r.IntN(4) {
				if d.Message() != nil {
					f.fill(r, list.AppendMutable().Message(), depth+1)
				} else {
					list.Append(f.value(r, d))
				}
			}
		case d.ContainingOneof() != nil && !d.HasOptionalKeyword() && r.IntN(d.ContainingOneof().Fields().Len()) > 0:
		case d.Message() != nil:
			f.fill(r, m.Mutable(d).Message(), depth+1)
		default:
			m.Set(d, f.value(r, d))
		}
	}
}

// value draws the value of a field.
func (f *fuzzer) value(r *rand.Rand, d protoreflect.FieldDescriptor) protoreflect.Value {
	if d.Name() == "worker" && r.IntN(8) > 0 { // ever new ones, so that sessions live for a while
		return protoreflect.ValueOfString(fmt.Sprintf("fuzz-%d", r.IntN(1<<20)))
	}
	f.mu.Lock()
	list := f.seen[place(d)]
	f.mu.Unlock()
	if len(list) > 0 && r.IntN(4) > 0 {
		v := list[r.IntN(len(list))]
		if d.Kind() == protoreflect.BytesKind && r.IntN(8) == 0 {
			return protoreflect.ValueOfBytes(mutated(r, v.Bytes()))
		}
		return v
	}
	drawn := [...]uint64{0, 1, 2, r.Uint64N(100), r.Uint64N(1 << 20), math.MaxUint32, math.MaxInt64, math.MaxUint64}
	n := drawn[r.IntN(len(drawn))]
	switch d.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(n % 5))
	case protoreflect.Uint32Kind:
		if d.Name() == "protocol_version" {
			n = farmv1.ProtocolVersion
		} else if d.Name() == "rules_version" {
			n = farmv1.RulesVersion
		}
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(n)
	case protoreflect.Sint32Kind, protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(int64(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64([...]float64{0, -1, 0.5, math.NaN(), math.Inf(1), 1e300}[r.IntN(6)])
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(strings.Repeat([...]string{"", "x", "\u0000", "ж", "a1-a2/a3 "}[r.IntN(5)],
			1+r.IntN(1<<r.IntN(12))))
	}
	return protoreflect.ValueOfBytes(mutated(r, make([]byte, [...]int{0, 1, 16, 32, 33, r.IntN(1 << 16)}[r.IntN(6)])))
}

// mutated changes some bytes of data, and its length at times.
func mutated(r *rand.Rand, data []byte) []byte {
	out := slices.Clone(data)
	for range 1 + r.IntN(8) {
		if len(out) > 0 {
			out[r.IntN(len(out))] = byte(r.Uint32())
		}
	}
	switch r.IntN(4) {
	case 0:
		out = out[:r.IntN(len(out)+1)]
	case 1:
		out = append(out, make([]byte, r.IntN(64))...)
	}
	return out
}

// message draws a message of a kind, in bytes: one in eight is none. The first one of a stream mostly is
// what has to come first.
func (f *fuzzer) message(r *rand.Rand, d protoreflect.MessageDescriptor, first bool) []byte {
	m := dynamicpb.NewMessage(d)
	f.fill(r, m, 0)
	likely := first && r.IntN(8) > 0
	switch name := d.Name(); {
	case name == "WorkRequest" && likely:
		hello := d.Fields().ByName("hello")
		m.Set(hello, m.NewField(hello))
		session := hello.Message().Fields().ByName("session")
		m.Mutable(hello).Message().Set(session, f.value(r, session))
	case name == "UploadCertificateRequest" && likely:
		part := f.parts[r.IntN(len(f.parts))]
		set := func(name protoreflect.Name, v protoreflect.Value) { m.Set(d.Fields().ByName(name), v) }
		set("sha256", protoreflect.ValueOfBytes(part.ID[:]))
		set("size", protoreflect.ValueOfUint64(uint64(len(part.Data))))
		set("data", protoreflect.ValueOfBytes(part.Data))
	case name == "EndCampaignRequest":
		if of := d.Fields().ByName("campaign"); m.Get(of).String() == held || m.Get(of).String() == "" {
			m.Set(of, protoreflect.ValueOfString("no-"+held))
		}
	}
	data, err := proto.Marshal(m)
	if err != nil || r.IntN(8) == 0 {
		return mutated(r, data)
	}
	return data
}

// raw sends and receives bytes as they are.
type raw struct{}

func (raw) Name() string                  { return "proto" }
func (raw) Marshal(v any) ([]byte, error) { return *v.(*[]byte), nil }
func (raw) Unmarshal(data []byte, v any) error {
	*v.(*[]byte) = slices.Clone(data)
	return nil
}

// call calls a method once.
func (f *fuzzer) call(ctx context.Context, r *rand.Rand, conn *grpc.ClientConn, m protoreflect.MethodDescriptor) {
	patience := 2 * time.Second
	if m.IsStreamingClient() && m.IsStreamingServer() {
		patience = time.Duration(1+r.IntN(4000)) * time.Millisecond
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	path := fmt.Sprintf("/%s/%s", m.Parent().FullName(), m.Name())
	s, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, path,
		grpc.ForceCodec(raw{}))
	if err == nil {
		go func() {
			n := 1
			if m.IsStreamingClient() {
				n = r.IntN(30)
			}
			own := rand.New(rand.NewPCG(r.Uint64(), 1))
			for i := range n {
				data := f.message(own, m.Input(), i == 0)
				if s.SendMsg(&data) != nil {
					return
				}
				if farm.Wait(ctx, time.Duration(own.IntN(20))*time.Millisecond) != nil {
					return
				}
			}
			_ = s.CloseSend() // the answer says what came of it
		}()
		for err == nil {
			var data []byte
			if err = s.RecvMsg(&data); err == nil {
				answer := dynamicpb.NewMessage(m.Output())
				if proto.Unmarshal(data, answer) == nil {
					f.harvest(answer)
				}
			}
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.calls[path] == nil {
		f.calls[path] = map[codes.Code]int{}
	}
	code := status.Code(err)
	if err != nil && err.Error() == "EOF" {
		code = codes.OK
	}
	f.calls[path][code]++
}

// work calls methods until ctx ends, on connections that live for some hundred calls.
func (f *fuzzer) work(ctx context.Context, r *rand.Rand, address string) {
	for ctx.Err() == nil {
		conn, err := grpc.NewClient("passthrough:///"+address, grpc.WithTransportCredentials(insecure.NewCredentials()),
			grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(farmv1.MaxMessageBytes)))
		if err != nil {
			return
		}
		var calls sync.WaitGroup
		for range 300 {
			if ctx.Err() != nil {
				break
			}
			own := rand.New(rand.NewPCG(r.Uint64(), r.Uint64()))
			m := f.methods[own.IntN(len(f.methods))]
			if own.IntN(3) == 0 {
				m = f.methods[own.IntN(5)] // those of workers
			}
			if m.IsStreamingServer() { // beside others
				calls.Go(func() { f.call(ctx, own, conn, m) })
				_ = farm.Wait(ctx, 20*time.Millisecond)
				continue
			}
			f.call(ctx, own, conn, m)
		}
		calls.Wait()
		conn.Close()
	}
}

// What a look at a master shows, by the names of the figures.
const goroutines, heap, files = "go_goroutines", "go_memstats_heap_alloc_bytes", "process_open_fds"

func (f *fuzzer) count() (all, good int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, by := range f.calls {
		for code, n := range by {
			if all += n; code == codes.OK {
				good += n
			}
		}
	}
	return all, good
}

// rpcs calls every method of a master that works with an honest worker, until the minutes are over.
// Nothing may end the master, and nothing may be left of the calls.
func (s *settings) rpcs(ctx context.Context) error {
	board, err := amazons.ParseBoard(s.board)
	if err != nil {
		return err
	}
	f := newFuzzer()
	if err := f.make(ctx, board, rand.New(rand.NewPCG(s.seed, 0))); err != nil {
		return err
	}
	m, err := s.serve(ctx, "rpcs", []string{"--stay", "--name", held, "--log-level", "error"})
	if err != nil {
		return err
	}
	defer m.log.Close()
	defer m.process.Kill()
	worker, err := m.honestWorker(0, 0) // ours
	if err != nil {
		return err
	}
	defer worker.Kill()
	_ = farm.Wait(ctx, 2*time.Second)
	before, err := farm.Scrape(m.pages)
	if err != nil {
		return err
	}
	fmt.Println("| minute | calls | of them good | goroutines | heap MiB | resident MiB | descriptors | healthz s |")
	fmt.Println("| --- | --- | --- | --- | --- | --- | --- | --- |")
	row := func(minute float64) (farm.Metrics, error) {
		d, err := healthy(m.pages)
		if err != nil {
			return nil, fmt.Errorf("minute %.0f: the pages do not answer: %w", minute, err)
		}
		x, err := farm.Scrape(m.pages)
		all, good := f.count()
		fmt.Printf("| %.0f | %d | %d | %.0f | %.0f | %.0f | %.0f | %.2f |\n", minute, all, good, x[goroutines],
			x[heap]/(1<<20), x["process_resident_memory_bytes"]/(1<<20), x[files], d.Seconds())
		return x, err
	}
	began := time.Now()
	if _, err := row(0); err != nil {
		return err
	}
	attack, peace := context.WithTimeout(ctx, time.Duration(s.minutes*float64(time.Minute)))
	defer peace()
	var clients sync.WaitGroup
	for i := range s.clients {
		clients.Go(func() { f.work(attack, rand.New(rand.NewPCG(s.seed, uint64(i))), m.workers) })
	}
	for m.process.Alive() && farm.Wait(attack, time.Minute) == nil {
		if _, err := row(time.Since(began).Minutes()); err != nil && m.process.Alive() {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	peace()
	clients.Wait()
	f.table()
	if !m.process.Alive() {
		return fmt.Errorf("the master has ended: %v", m.process.Cmd.ProcessState)
	}
	if !worker.Alive() {
		return fmt.Errorf("the honest worker has ended: %v", worker.Cmd.ProcessState)
	}
	_ = farm.Wait(ctx, calm)
	after, err := row(time.Since(began).Minutes())
	switch {
	case err != nil:
		return err
	case after[goroutines] > before[goroutines]+mostGoroutines:
		return fmt.Errorf("%.0f goroutines are left, before there were %.0f", after[goroutines], before[goroutines])
	case after[files] > before[files]+mostFiles:
		return fmt.Errorf("%.0f files are left open, before there were %.0f", after[files], before[files])
	case after[heap] > mostHeap:
		return fmt.Errorf("%.0f MiB of heap are left", after[heap]/(1<<20))
	}
	if err := m.process.Cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	if !m.process.EndsWithin(time.Minute) {
		return errors.New("the master does not end")
	}
	if code := m.process.Cmd.ProcessState.ExitCode(); code != 130 {
		return fmt.Errorf("the master ends with exit code %d", code)
	}
	return m.checkStore()
}

// table prints what came of the calls, by method.
func (f *fuzzer) table() {
	fmt.Println("\n| method | calls | good | other codes |\n| --- | --- | --- | --- |")
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(f.calls)) {
		by, all := f.calls[path], 0
		var others []string
		most := func(a, b codes.Code) int { return cmp.Compare(by[b], by[a]) }
		for _, code := range slices.SortedFunc(maps.Keys(by), most) {
			if all += by[code]; code != codes.OK {
				others = append(others, fmt.Sprintf("%v %d", code, by[code]))
			}
		}
		fmt.Printf("| %s | %d | %d | %s |\n", path, all, by[codes.OK], strings.Join(others, ", "))
	}
	fmt.Println()
}
