package command

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"amazonsfarm/master/access"
	"amazonsfarm/master/campaign"
	"amazonsfarm/master/evidence"
	"amazonsfarm/master/store"
	"amazonsfarm/master/tree"
	"amazonsfarm/master/web"
	"amazonsfarm/shared/cli"
)

// settings are what an operator may change of a master. Every setting is a key of the settings file
// (--config), and a few are flags, too. A flag beats the environment, which beats the file.
type settings struct {
	farm   campaign.Options
	access access.Limits
	pages  web.Config

	file  string
	all   *pflag.FlagSet // one flag for each key
	title string         // of the group that is being defined
}

// newSettings returns the settings with their defaults.
func newSettings() *settings {
	s := &settings{all: pflag.NewFlagSet("settings", pflag.ContinueOnError)}
	s.all.SortFlags = false
	// For check-first a zero means something else, to trust all, so its default is set here.
	s.farm.Tree.CheckFirst, s.farm.Store.MinFreeBytes = 2, store.DefaultMinFreeBytes
	s.pages = web.DefaultConfig()
	s.addLeases()
	s.addWorkers()
	s.addRest()
	return s
}

// addLeases defines how long leases are and how large the tree gets.
func (s *settings) addLeases() {
	t, d := &s.farm.Tree, tree.Config{}.WithDefaults()
	s.title = "Leases and tree"
	define(s, s.all.Uint64Var, "initial-budget", &t.InitialBudget, 1, math.MaxInt64,
		"search `NODES` in a position's first lease (default %d, fewer in a young campaign)", d.InitialBudget)
	define(s, s.all.IntVar, "probe-percent", &t.ProbePercent, 1, 100,
		"give a first lease at least `N` percent of the initial budget (default %d)", d.ProbePercent)
	define(s, s.all.Uint64Var, "max-budget", &t.MaxBudget, 1, math.MaxInt64,
		"search at most `NODES` in a lease (default %d, or the initial budget)", d.MaxBudget)
	define(s, s.all.Uint64Var, "split-after", &t.SplitAfter, 1, math.MaxInt64,
		"split a position after `NODES` (default %d)", d.SplitAfter)
	define(s, s.all.IntVar, "short-percent", &t.ShortPercent, -1, 100,
		"ignore open results below `N` percent of their budget (default %d, -1: none)", d.ShortPercent)
	define(s, s.all.IntVar, "silent-heartbeats", &t.SilentTicks, 1, cli.Most,
		"lose a lease after `N` heartbeats without progress (default 10, at a heartbeat of 1s)")
	define(s, s.all.DurationVar, "heartbeat", &s.farm.Loop.Heartbeat, 10*time.Millisecond, 24*time.Hour,
		"let workers report once in `TIME` (default 1s)")
	define(s, s.all.IntVar, "results-per-second", &s.farm.Results, 1, cli.Most,
		"make leases longer above `N` results a second (default %d)", d.ResultsPerTick)
	define(s, s.all.IntVar, "tree-positions", &t.MaxPositions, 1, cli.Most,
		"keep at most `N` positions in the tree, 500 bytes each (default %d)", d.MaxPositions)
	define(s, s.all.IntVar, "tree-facts", &t.MaxFacts, 1, cli.Most,
		"keep at most `N` facts in memory, 150 bytes each (default %d)", d.MaxFacts)
}

// addWorkers defines what workers may do and whose results are checked.
func (s *settings) addWorkers() {
	l, r := &s.farm.Loop, &s.farm.Services
	s.title = "Trust in workers"
	define(s, s.all.IntVar, "check-first", &s.farm.Tree.CheckFirst, 0, cli.Most,
		"check `N` results of a new party (default 2; 0: trust all)")
	define(s, s.all.IntVar, "max-offences", &l.MaxOffences, 1, cli.Most,
		"quarantine a party after `N` offences (default 3)")
	s.title = "Limits of a worker"
	define(s, s.all.IntVar, "max-workers", &l.MaxWorkers, 1, cli.Most, "serve at most `N` workers (default 10000)")
	define(s, s.all.Float64Var, "worker-messages", &r.SessionMessages, 1, 1e9,
		"accept `N` messages a second from a worker (default 2000)")
	s.size("max-certificate", &r.MaxCertificateBytes, "accept certificates up to `SIZE` (default 256MiB)")
	define(s, s.all.Int64Var, "upload-rate", &r.UploadRate, -1, 1<<40,
		"end uploads below `N` bytes a second (default 32768, -1: never)")
	define(s, s.all.DurationVar, "upload-idle", &r.CallIdle, 10*time.Millisecond, 24*time.Hour,
		"end a call that is silent for `TIME` (default 1m)")
	s.size("hints", &l.HintBytes, "keep hints of unsolved positions in `SIZE` of memory (default 256MiB)")
	s.title = "Limits of a credential"
	define(s, s.all.Float64Var, "credential-messages", &s.access.MessagesPerSecond, 1, 1e9,
		"accept `N` messages a second from a credential (default 4000)")
	define(s, s.all.IntVar, "credential-calls", &s.access.OpenCalls, 1, cli.Most,
		"accept `N` calls at a time from a credential (default 64; a worker needs 2)")
	s.size("credential-uploads", &s.access.UploadBytes,
		"accept uploads of `SIZE` at a time from a credential (default 1GiB)")
}

// addRest defines how much the store holds and how often pages change.
func (s *settings) addRest() {
	s.title = "Store"
	s.size("min-free", &s.farm.Store.MinFreeBytes, "pause while the disk of store or parts has less than `SIZE` left")
	s.all.StringVar(&s.farm.Store.Evidence, "evidence-store", "",
		"keep the parts of a new store at `PLACE`, a folder or s3://BUCKET/PREFIX (default: beside it)")
	s.group("evidence-store")
	s.all.Func("evidence", "keep `WHAT` of a verified part: all of it (keep) or its outline and SHA-256 (digest)",
		func(text string) error {
			if text != "keep" && text != "digest" {
				return errors.New("give keep or digest")
			}
			s.farm.Store.Digest = text == "digest"
			return nil
		})
	s.all.Lookup("evidence").DefValue = "keep"
	s.group("evidence")
	define(s, s.all.IntVar, "max-campaigns", &s.farm.Store.MaxCampaigns, 1, cli.Most,
		"hold at most `N` campaigns, finished ones included (default 64)")
	define(s, s.all.Uint64Var, "campaign-credit", &s.farm.Loop.Credit, 1, math.MaxInt64,
		"let a campaign that was idle catch up `NODES` (default 10000000)")
	s.title = "Pages"
	define(s, s.all.DurationVar, "page-period", &s.pages.Period, 100*time.Millisecond, time.Minute,
		"renew the status page once in `TIME` (default 1s)")
	define(s, s.all.IntVar, "page-history", &s.pages.HistoryPoints, 2, 100_000,
		"draw the curve of proof numbers with `N` points (default 600)")
}

// leastCertificate is the least value of max-certificate. A worker cannot deliver a part above that limit. The master
// would see results without evidence, and quarantine the worker.
const leastCertificate = 128 << 20

// define adds a setting with a range. A setting that nobody gives stays zero, which stands for the default that the
// help names.
func define[T cli.Number](s *settings, add func(*T, string, T, string), name string, at *T, low, high T, help string,
	values ...any) {
	// Without this, help would show the zero as the default.
	cli.Ranged(s.all, add, name, at, *at, low, high, fmt.Sprintf(help, values...)).DefValue = ""
	s.group(name)
}

// size adds a setting in bytes.
func (s *settings) size(name string, at *int64, help string) {
	s.all.Var((*cli.Size)(at), name, help)
	s.group(name)
}

func (s *settings) group(name string) { cli.Group(s.all, s.title, name) }

// addTo makes some of the settings flags of a command, and adds --config for all of them.
func (s *settings) addTo(flags *pflag.FlagSet, names ...string) {
	for _, name := range names {
		flags.AddFlag(s.all.Lookup(name))
	}
	flags.StringVar(&s.file, "config", "", "read more settings from `FILE`; see master help settings")
}

// addCampaign makes the flags of a campaign that solve and serve have in common; moves is for those of
// the root.
func (s *settings) addCampaign(flags *pflag.FlagSet, moves *[]string) {
	o := &s.farm
	flags.StringArrayVar(moves, "first-move", nil, "try only this `MOVE` at the root; may be repeated")
	flags.BoolVar(&o.RulesOnly, "rules-only", false, "prove by the rules alone, without the counting lemma")
	flags.Uint64Var(&o.Loop.NodeLimit, "nodes", 0, "stop after about `NODES` in all (exit code 3; default: never)")
	flags.BoolVar(&o.Tree.EasyReplies, "easy-replies", false,
		"settle replies to first moves one by one, easy ones first")
}

// maxSettings bounds a settings file, in bytes. One with all settings and comments has a few thousand.
const maxSettings = 64 << 10

// read reads the settings file, and checks what cannot be checked of one setting alone.
func (s *settings) read() error {
	if s.file != "" {
		f, err := os.Open(s.file)
		if err != nil {
			return cli.Usagef("--config: %w", err)
		}
		defer f.Close()
		data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
		switch {
		case err != nil:
			return cli.Usagef("--config: %w", err)
		case len(data) > maxSettings:
			return cli.Usagef("%s: settings take %s at most", s.file, cli.FormatSize(maxSettings))
		}
		if err := s.parse(data); err != nil {
			return err
		}
	}
	if m, i := s.farm.Tree.MaxBudget, s.farm.Tree.InitialBudget; m > 0 && m < i {
		return cli.Usagef("max-budget %d: it must be at least initial-budget %d", m, i)
	}
	if m := s.farm.Services.MaxCertificateBytes; m > 0 && m < leastCertificate {
		return cli.Usagef("max-certificate %s: give at least %s, the largest part that a worker makes",
			cli.FormatSize(m), cli.FormatSize(leastCertificate))
	}
	if place := s.farm.Store.Evidence; place != "" {
		if _, err := evidence.Open(place); err != nil {
			return cli.Usagef("evidence-store: %w", err)
		}
	}
	return nil
}

// parse sets what a settings file says and no flag has set: lines of KEY: VALUE, in YAML.
func (s *settings) parse(data []byte) error {
	var values map[string]yaml.Node
	documents := yaml.NewDecoder(bytes.NewReader(data))
	if err := documents.Decode(&values); err != nil && !errors.Is(err, io.EOF) {
		why, _, _ := strings.Cut(strings.Join(strings.Fields(err.Error()), " "), ": cannot unmarshal")
		return cli.Usagef("%s: write a line KEY: VALUE for each setting: %s", s.file,
			strings.NewReplacer("yaml: ", "", "unmarshal errors: ", "").Replace(why))
	}
	if err := documents.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return cli.Usagef("%s: write all settings without a line --- between them", s.file)
	}
	// The keys are sorted, so of several mistakes the same one is always told first.
	for _, name := range slices.Sorted(maps.Keys(values)) {
		value, f := values[name], s.all.Lookup(name)
		switch {
		case f == nil:
			return cli.Usagef("%s:%d: there is no setting %q; see master help settings", s.file, value.Line, name)
		case value.Kind != yaml.ScalarNode:
			return cli.Usagef("%s:%d: %s: write one value, and no alias", s.file, value.Line, name)
		case value.ShortTag() == "!!null":
			return cli.Usagef("%s:%d: %s: it has no value", s.file, value.Line, name)
		case f.Changed: // the flag beats the file
		default:
			if err := f.Value.Set(value.Value); err != nil {
				return cli.Usagef("%s:%d: %s %s: %w", s.file, value.Line, name, value.Value, err)
			}
		}
	}
	return nil
}

// settingsTopic is the help topic about the settings file.
func settingsTopic() *cobra.Command {
	keys := strings.NewReplacer("\n      --", "\n  ", "\n      ", "\n") // not as flags
	return &cobra.Command{Use: "settings", Short: "What a settings file may hold",
		Long: help.Text("settings") + "\n" + keys.Replace(cli.FlagUsages(newSettings().all))}
}
