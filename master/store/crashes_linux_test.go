package store

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"

	"amazonsfarm/master/store/page"
)

// folder holds files, as it may be found after a crash.
type folder struct {
	files map[int][]byte
	names map[string]int
	own   map[int]bool // files whose bytes no clone shares
}

func newFolder() *folder { return &folder{map[int][]byte{}, map[string]int{}, map[int]bool{}} }

// clone shares the bytes of files until one of the two writes.
func (d *folder) clone() *folder {
	clear(d.own)
	return &folder{maps.Clone(d.files), maps.Clone(d.names), map[int]bool{}}
}

// resize returns a file's bytes, to be changed, with a new size.
func (d *folder) resize(file, size int) []byte {
	data := d.files[file]
	if !d.own[file] || size > cap(data) {
		data = append(make([]byte, 0, max(size, len(data))*5/4), data...)
		d.own[file] = true
	}
	if size > len(data) {
		old := len(data)
		data = data[:size]
		clear(data[old:])
	}
	data = data[:size]
	d.files[file] = data
	return data
}

func (d *folder) apply(o op) {
	switch o.kind {
	case opCreate:
		d.names[o.name] = o.file
		if d.files[o.file] == nil {
			d.files[o.file] = []byte{}
		}
	case opFolder:
		d.names[o.name] = o.file
	case opWrite:
		copy(d.resize(o.file, max(len(d.files[o.file]), int(o.offset)+len(o.data)))[o.offset:], o.data)
	case opTruncate:
		d.resize(o.file, int(o.size))
	case opLink:
		d.names[o.to] = d.names[o.name]
	case opRename:
		d.names[o.to] = d.names[o.name]
		delete(d.names, o.name)
	case opUnlink:
		delete(d.names, o.name)
	}
}

// ofFolder reports whether an operation changes names.
func (o op) ofFolder() bool {
	return o.kind == opCreate || o.kind == opFolder || o.kind == opLink || o.kind == opRename || o.kind == opUnlink
}

// A crash is what is left of a recording that ended in the middle.
type crash struct {
	*folder
	at     int    // operations that had begun
	how    string // for people
	header bool   // a header was torn within its first sector, which disks write as a whole
}

// sector is what a disk writes as a whole, in bytes.
const sector = 512

// crashes calls yield with what may be found after each operation of a recording and in the middle
// of it: when the process is killed, all that it wrote, the last write perhaps in part; when the
// power fails, what was synced, of what was not any part (writes, sectors of writes), and of the
// changes of names those up to any one. wanted says for which operations; durable is told, after
// each sync, what a crash cannot take any more.
func crashes(ops []op, random *rand.Rand, wanted func(at int) bool, durable func(at int, d *folder),
	yield func(crash)) {
	synced, all := newFolder(), newFolder()
	var pending []int // operations that are not synced
	for at, o := range ops {
		if o.kind == opWrite && wanted(at) {
			for _, n := range tears(o, random) {
				d := all.clone()
				d.apply(op{kind: opWrite, file: o.file, offset: o.offset, data: o.data[:n]})
				torn := headerWrite(o) && n < sector
				yield(crash{d, at + 1, fmt.Sprintf("killed with %d bytes of %v", n, o), torn})
				d = synced.clone()
				d.apply(op{kind: opWrite, file: o.file, offset: o.offset, data: o.data[:n]})
				yield(crash{d, at + 1, fmt.Sprintf("power cut with %d bytes of %v and nothing else", n, o), torn})
			}
		}
		all.apply(o)
		switch o.kind {
		case opSaid:
		case opSync:
			left := pending[:0]
			for _, i := range pending {
				p := ops[i]
				inFolder := p.ofFolder() && o.file == 0 && filepath.Dir(p.name) == o.name
				if i < o.covers && (p.file == o.file && !p.ofFolder() || inFolder) {
					synced.apply(p)
				} else {
					left = append(left, i)
				}
			}
			pending = left
			durable(at+1, synced)
		default:
			pending = append(pending, at)
		}
		if !wanted(at) {
			continue
		}
		yield(crash{all.clone(), at + 1, "killed after " + o.String(), false})
		yield(crash{synced.clone(), at + 1, "power cut after " + o.String() + ", what was not synced is lost", false})
		if len(pending) == 0 {
			continue
		}
		lost := pending[random.IntN(len(pending))]
		yield(crash{part(synced, ops, pending, func(i int, o op) []op { return keep(o, i != lost) }), at +
			1, fmt.Sprintf("power cut after %v, %v is lost", o, ops[lost]), false})
		yield(crash{part(synced, ops, pending, func(i int, o op) []op { return keep(o, i == lost) }), at +
			1, fmt.Sprintf("power cut after %v, all but %v is lost", o, ops[lost]), false})
		for range 2 {
			yield(crash{part(synced, ops, pending, func(_ int, o op) []op { return sectors(o, random) }), at +
				1, fmt.Sprintf("power cut after %v, any sectors are lost", o), false})
		}
	}
}

func keep(o op, yes bool) []op {
	if yes {
		return []op{o}
	}
	return nil
}

// part applies parts of what is pending. Of the changes of names those after one that is lost are
// lost as well.
func part(synced *folder, ops []op, pending []int, choose func(i int, o op) []op) *folder {
	d := synced.clone()
	lost := false
	for _, i := range pending {
		chosen := choose(i, ops[i])
		if ops[i].ofFolder() {
			if lost = lost || len(chosen) == 0; lost {
				continue
			}
		}
		for _, o := range chosen {
			d.apply(o)
		}
	}
	return d
}

// sectors returns any of the sectors of a write, or any other operation or nothing.
func sectors(o op, random *rand.Rand) (list []op) {
	if o.kind != opWrite {
		return keep(o, random.IntN(2) == 0)
	}
	for from := 0; from < len(o.data); from += sector {
		if random.IntN(2) == 0 {
			to := min(from+sector, len(o.data))
			list = append(list, op{kind: opWrite, file: o.file, offset: o.offset + int64(from), data: o.data[from:to]})
		}
	}
	return list
}

// headerWrite reports whether a write is that of one of a store's two headers.
func headerWrite(o op) bool {
	return o.kind == opWrite && len(o.data) == pageSize && (o.offset == 0 || o.offset == pageSize)
}

// tears returns numbers of bytes after which a write may be torn. A header is torn at each of its
// first sectors and within its record.
func tears(o op, random *rand.Rand) []int {
	if headerWrite(o) {
		return []int{page.HeaderBytes - 3, page.HeaderBytes + 20, page.HeaderBytes + page.MetaBytes - 4, sector,
			2 * sector,
			len(o.data) - sector}
	}
	if len(o.data) < 2 {
		return nil
	}
	return []int{len(o.data) / 2, 1 + random.IntN(len(o.data)-1)}
}
