package campaign

import (
	"math"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/shared/disk"
)

// RegisterDisk registers how much room is left for a store and its parts, which may lie on another disk: the lesser
// of the two. The file systems are asked at each scrape; where none answers the figure is NaN, which no alert takes for
// a full disk. A bucket is no folder, so it does not answer.
func RegisterDisk(r prometheus.Registerer, storeFile, parts string) {
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "amazons", Subsystem: "master", Name: "store_filesystem_free_bytes",
		Help: "Bytes that this process may still write to the file system of the store, or of its parts where less.",
	}, func() float64 {
		least := math.NaN()
		for _, folder := range []string{filepath.Dir(storeFile), parts} {
			if free, known := disk.FreeBytes(folder); known && !(float64(free) >= least) {
				least = float64(free)
			}
		}
		return least
	}))
}
