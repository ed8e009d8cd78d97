package store

import (
	"fmt"
	"io"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"amazonsfarm/master/tree"
)

// BenchmarkCommit measures commits of one record each.
func BenchmarkCommit(b *testing.B) {
	for _, callers := range []int{1, 64} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			s := newStore(b, quick)
			nodes := make([]tree.NodeRecord, 4096)
			for i := range nodes {
				nodes[i] = nodeOf(uint64(i))
			}
			b.ReportAllocs()
			b.ResetTimer()
			var next atomic.Int64
			var group sync.WaitGroup
			for range callers {
				group.Go(func() {
					for {
						i := next.Add(1)
						if i > int64(b.N) {
							return
						}
						if err := s.commit(tree.Persist{Nodes: nodes[i%4096 : i%4096+1], Epoch: 1}); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			group.Wait()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "commits/s")
		})
	}
}

// BenchmarkRecords measures commits of 1,000 new facts and nodes each.
func BenchmarkRecords(b *testing.B) {
	s := newStore(b, quick)
	id := upload(b, s, []byte("evidence"))
	b.ReportAllocs()
	records := 0
	for i := range uint64(b.N) {
		b.StopTimer()
		var batch tree.Persist
		for j := range uint64(500) {
			batch.Nodes = append(batch.Nodes, nodeOf(i*1000+j))
			batch.Facts = append(batch.Facts, factOf(i*1000+500+j, id))
		}
		b.StartTimer()
		if err := s.commit(batch); err != nil {
			b.Fatal(err)
		}
		records += 1000
	}
	b.ReportMetric(float64(records)/b.Elapsed().Seconds(), "records/s")
}

func fill(b *testing.B, s *Store, records uint64) {
	id := upload(b, s, []byte("evidence"))
	for i := uint64(0); i < records; i += 10000 {
		var batch tree.Persist
		for j := range uint64(5000) {
			batch.Nodes = append(batch.Nodes, nodeOf(i+j))
			batch.Facts = append(batch.Facts, factOf(i+5000+j, id))
		}
		if err := s.commit(batch); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSnapshot, BenchmarkOpen and BenchmarkCheck read a store of 100,000 records.
func BenchmarkSnapshot(b *testing.B) {
	s := newStore(b, quick)
	fill(b, s, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Snapshot(1); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

func BenchmarkOpen(b *testing.B) {
	path := filepath.Join(b.TempDir(), "store")
	s, err := Create(path, testCampaign, quick)
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, 100_000)
	s.Close()
	b.ReportAllocs()
	for b.Loop() {
		s, err := Open(path, quick)
		if err != nil {
			b.Fatal(err)
		}
		s.Close()
	}
}

func BenchmarkCheck(b *testing.B) {
	s := newStore(b, quick)
	fill(b, s, 100_000)
	b.ReportAllocs()
	for b.Loop() {
		check(b, s)
	}
	b.ReportMetric(100_000*float64(b.N)/b.Elapsed().Seconds(), "records/s")
}

// BenchmarkCertificate measures certificates of 16 MiB, in and out.
func BenchmarkCertificate(b *testing.B) {
	const size = 16 << 20
	b.Run("upload", func(b *testing.B) {
		s := newStore(b, quick)
		p, _ := payloadOf(1, size)
		b.SetBytes(size)
		for i := range b.N {
			b.StopTimer()
			p[0], p[1], p[2] = byte(i), byte(i>>8), byte(i>>16)
			b.StartTimer()
			upload(b, s, p)
		}
		b.StopTimer()
		st, _ := s.Stats()
		bolt := s.db.Stats()
		b.ReportMetric(float64(bolt.TxStats.GetPageAlloc())/float64(st.CertificateBytes), "written/data")
		b.ReportMetric(float64(st.FileBytes)/float64(st.CertificateBytes), "file/data")
	})
	b.Run("read", func(b *testing.B) {
		s := newStore(b, quick)
		p, _ := payloadOf(1, size)
		id := upload(b, s, p)
		b.SetBytes(size)
		for b.Loop() {
			r, n, err := s.OpenCertificate(id)
			if err == nil {
				_, err = io.Copy(io.Discard, io.NewSectionReader(r, 0, n))
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
