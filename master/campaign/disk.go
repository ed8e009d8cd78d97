package campaign

import (
	"math"
	"path/filepath"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/shared/disk"
)

// RegisterDisk registers how much room is left for a store. The file system is asked at each
// scrape; where it does not answer the figure is NaN, which no alert takes for a full disk.
func RegisterDisk(r prometheus.Registerer, storeFile string) {
	folder := filepath.Dir(storeFile)
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Namespace: "amazons", Subsystem: "master", Name: "store_filesystem_free_bytes",
		Help: "Bytes that this process may still write to the file system of the store.",
	}, func() float64 {
		free, known := disk.FreeBytes(folder)
		if !known {
			return math.NaN()
		}
		return float64(free)
	}))
}
