package campaign

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"amazonsfarm/shared/amazons"
	"amazonsfarm/shared/eval"
	"amazonsfarm/shared/proof"
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

// TestRegisterLedgers asks for the proved positions before and after a certificate is remembered.
func TestRegisterLedgers(t *testing.T) {
	root, err := amazons.ParsePosition("WB../...x/x.../..xx w")
	if err != nil {
		t.Fatal(err)
	}
	ledger := proof.NewLedger(root.Board, eval.SumLeaves, 0)
	other := proof.NewLedger(amazons.Board{Width: 4, Height: 5}, eval.SumLeaves, 0)
	registry := prometheus.NewRegistry()
	RegisterLedgers(registry, func() []*proof.Ledger { return []*proof.Ledger{ledger, other} })
	for _, want := range []float64{0, 1, 1} {
		families, err := registry.Gather()
		if err != nil || len(families) != 1 || families[0].GetName() != "amazons_master_proved_positions" {
			t.Fatalf("%v: %v", families, err)
		}
		if got := families[0].GetMetric()[0].GetGauge().GetValue(); got != want {
			t.Errorf("%.0f proved positions, want %.0f", got, want)
		}
		if err := ledger.Remember(proof.Certificate{Board: root.Board,
			Roots: []proof.Root{proof.RootOf(root, eval.Won)}}); err != nil {
			t.Fatal(err)
		}
	}
}
