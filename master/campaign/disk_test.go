package campaign

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// TestRegisterDisk asks for the room beside a store, and once more when the folder is gone.
func TestRegisterDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stores")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	RegisterDisk(registry, filepath.Join(folder, "a.store"))
	value := func() float64 {
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "amazons_master_store_filesystem_free_bytes" {
			t.Fatalf("%v: %v", families, err)
		}
		return families[0].GetMetric()[0].GetGauge().GetValue()
	}
	before := value()
	if before < 1<<20 || before > 1<<60 {
		t.Errorf("%.0f bytes are free", before)
	}
	if err := os.RemoveAll(folder); err != nil {
		t.Fatal(err)
	}
	if gone := value(); !math.IsNaN(gone) {
		t.Errorf("%.0f bytes are free in a folder that is not there", gone)
	}
}
