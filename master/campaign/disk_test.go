package campaign

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/shared/disk"
)

// TestRegisterDisk asks for the room beside a store, and once more when the folder is gone.
func TestRegisterDisk(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "stores")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	RegisterDisk(registry, filepath.Join(folder, "a.store"), "s3://farm/parts")
	value := func() float64 {
		t.Helper()
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

// TestRegisterDiskOfParts: parts on another disk that is full are what the figure tells of.
func TestRegisterDiskOfParts(t *testing.T) {
	const full = "/proc" // a file system without any room
	if free, known := disk.FreeBytes(full); !known || free != 0 {
		t.Skip("there is no file system without room here")
	}
	registry := prometheus.NewRegistry()
	RegisterDisk(registry, filepath.Join(t.TempDir(), "a.store"), full)
	families, err := registry.Gather()
	if err != nil || families[0].GetMetric()[0].GetGauge().GetValue() != 0 {
		t.Errorf("%v: %v", families, err)
	}
}
