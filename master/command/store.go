package command

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"amazonsfarm/master/campaign"
	"amazonsfarm/master/store"
	farmv1 "amazonsfarm/proto/farm/v1"
	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/disk"
)

// storeCommand looks after store files. The commands that take long show progress and end at a signal;
// what they leave is a good store in any case.
func storeCommand() *cobra.Command {
	return group("store", "Check, back up, compact and export a store", storeCheck(), storeInfo(), storeBackup(),
		storeCompact(), storeExport())
}

// watched runs f with a status line that says how far it is, until a signal ends it, and returns
// what f returns, with the seconds that it took.
func watched[T any](ctx context.Context, c *cobra.Command, f func(store.Progress) (T, error)) (T, float64, error) {
	var text atomic.Value
	text.Store("opening")
	hide := cli.NewStatusLine(c.ErrOrStderr()).Show(ctx, func() string { return text.Load().(string) })
	defer hide()
	began, last := time.Now(), time.Time{}
	result, err := f(func(part string, done, total int64) {
		if time.Since(last) < cli.TerminalPeriod/2 {
			return
		}
		last = time.Now()
		t := fmt.Sprintf("%s: %s", part, count(uint64(done)))
		if total > 0 {
			t += fmt.Sprintf(" of %s (%d %%)", count(uint64(total)), min(100, done*100/total))
		}
		text.Store(t)
	})
	// Work that is done in spite of a signal is not thrown away: a result without an error stays one.
	if ctx.Err() != nil && err != nil {
		err = cli.ErrInterrupted
	}
	return result, time.Since(began).Seconds(), err
}

// storeCheck prints all faults that it finds, and ends with the exit code of a failed verification.
func storeCheck() *cobra.Command {
	c := &cobra.Command{
		Use:   "check STORE",
		Short: "Verify every byte of a store: pages, records, parts, counts",
		Long:  help.Long("store-check"),
		Args:  cobra.ExactArgs(1),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		r, seconds, err := watched(ctx, c, func(progress store.Progress) (store.Report, error) {
			return store.CheckFile(ctx, args[0], progress)
		})
		if err != nil {
			return err
		}
		r.MessageType, r.Seconds = "store_check", seconds
		err = cli.Answer(c, *asJSON, r, r.String())
		if bad := r.Err(); bad != nil {
			if n := len(r.Findings) + r.More; n > 0 && !*asJSON { // its text is on standard output
				bad = fmt.Errorf("%s is damaged: %s; see above", args[0], cli.Counted(n, "fault"))
			}
			return cli.As(cli.ErrVerification, errors.Join(bad, err))
		}
		return err
	})
	return c
}

// storeInfo reads headers and counts, not every record: it is quick where check takes minutes.
func storeInfo() *cobra.Command {
	c := &cobra.Command{
		Use:   "info STORE",
		Short: "Show the campaigns of a store and the sizes of its parts",
		Args:  cobra.ExactArgs(1),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = func(c *cobra.Command, args []string) error {
		info, err := store.ReadInfo(args[0])
		if err != nil {
			return err
		}
		return cli.Answer(c, *asJSON, info, info.String())
	}
	return c
}

// storeBackup copies from a master or from a file. Both ways the copy is checked before it gets its
// name.
func storeBackup() *cobra.Command {
	var master remote
	var evidence bool
	c := &cobra.Command{
		Use:   "backup [STORE] TO",
		Short: "Copy a store, of a running master or a file that no master has open",
		Long:  help.Long("store-backup"),
		Args:  cobra.RangeArgs(1, 2),
	}
	answering(c, func(ctx context.Context, c *cobra.Command, args []string) (r store.Report, err error) {
		if evidence && len(args) == 1 {
			return r, cli.Usagef("--evidence is for a store that no master has open; of a running one, copy the " +
				"folder NAME.evidence beside its store after the backup")
		}
		if err := cli.CheckOutput("", args[len(args)-1]); err != nil {
			return r, err
		}
		r, seconds, err := watched(ctx, c, func(progress store.Progress) (store.Report, error) {
			if len(args) == 2 {
				return store.BackupFile(ctx, args[0], args[1], evidence, progress)
			}
			return master.backup(ctx, args[0], progress)
		})
		if len(args) == 2 && errors.Is(err, store.ErrLocked) {
			return r, cli.As(cli.ErrLocked, fmt.Errorf("%w: master store backup TO --master ADDR", err))
		}
		r.MessageType, r.Seconds = "store_backup", seconds
		return r, copyError(err)
	})
	master.add(c)
	c.Flags().BoolVar(&evidence, "evidence", false, "copy the parts as well, of a store that no master has open")
	return c
}

// backup fetches a copy of the store of a running master.
func (r *remote) backup(ctx context.Context, to string, progress store.Progress) (store.Report, error) {
	client, conn, err := r.dial()
	if err != nil {
		return store.Report{}, err
	}
	defer conn.Close()
	if err := store.Apart(to); err != nil {
		return store.Report{}, err
	}
	d, err := disk.New(to)
	if err != nil {
		return store.Report{}, err
	}
	defer d.Discard()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.Backup(ctx, &farmv1.BackupRequest{})
	if err != nil {
		return store.Report{}, callError(r.address, err)
	}
	sum := sha256.New()
	var size, done int64
	// The first message has the size, the last one the SHA-256. A stream without it was cut, however it
	// ended. Nothing gets the name before both agree with what came.
	for {
		m, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return store.Report{}, fmt.Errorf("the backup from %s ended before its end, after %d bytes; try again",
				r.address, done)
		}
		if err != nil {
			return store.Report{}, callError(r.address, err)
		}
		if m.GetSize() > 0 {
			size = int64(m.GetSize())
			if err := store.Fits(to, size); err != nil {
				return store.Report{}, err
			}
		}
		sum.Write(m.GetData())
		if _, err := d.Write(m.GetData()); err != nil {
			return store.Report{}, err
		}
		done += int64(len(m.GetData()))
		progress("copying", done, size)
		switch {
		case len(m.GetSha256()) == 0:
		case done != size || !bytes.Equal(sum.Sum(nil), m.GetSha256()):
			return store.Report{}, fmt.Errorf("the %d bytes that came from %s are not the %d that the master sent; "+
				"try again", done, r.address, size)
		default:
			return store.PublishCopy(ctx, d, progress)
		}
	}
}

// storeCompact keeps the old store beside the new one unless --replace is given.
func storeCompact() *cobra.Command {
	var replace bool
	c := &cobra.Command{
		Use:   "compact STORE [TO]",
		Short: "Write a store again without its free pages",
		Long:  help.Long("store-compact"),
		Args:  cobra.RangeArgs(1, 2),
	}
	asJSON := cli.JSONFlag(c)
	c.RunE = cli.Interruptible(func(ctx context.Context, c *cobra.Command, args []string) error {
		to := strings.Join(args[1:], "")
		if err := cli.CheckOutput("", to); err != nil {
			return err
		}
		switch {
		case len(args) == 2 && (to == "" || filepath.Clean(to) == filepath.Clean(args[0])):
			return cli.Usagef("compact to another file than the store, or leave out the second file")
		case len(args) == 2 && replace:
			return cli.Usagef("--replace is for a store that is compacted in its place; leave out --replace or %s", to)
		}
		done, seconds, err := watched(ctx, c, func(progress store.Progress) (store.Compaction, error) {
			return store.Compact(ctx, args[0], to, replace, progress)
		})
		if err != nil {
			return copyError(err)
		}
		done.Seconds = seconds
		text := fmt.Sprintf("store          %s: %s, before %s\n", done.File, cli.FormatSize(done.After),
			cli.FormatSize(done.Before))
		if done.Kept != "" {
			text += fmt.Sprintf("kept           %s, as it was; remove it when the new one is in use\n", done.Kept)
		}
		if done.LacksParts > 0 {
			text += fmt.Sprintf("lacks          %s of %s; copy to %s from %s\n", cli.Counted(done.LacksParts, "part"),
				cli.FormatSize(int64(done.LacksBytes)), store.EvidenceFolder(done.File), store.EvidenceFolder(args[0]))
		}
		return cli.Answer(c, *asJSON, done, text)
	})
	c.Flags().BoolVar(&replace, "replace", false, "remove the old store")
	return c
}

// storeExport writes an archive, and the manifest of what is settled.
func storeExport() *cobra.Command {
	var name string
	var minNodes uint64
	c := &cobra.Command{
		Use:   "export STORE NAME.archive",
		Short: "Write what makes a campaign go on elsewhere, without the parts",
		Long:  help.Long("store-export"),
		Args:  cobra.ExactArgs(2),
	}
	answering(c, func(ctx context.Context, _ *cobra.Command, args []string) (r campaign.Exported, err error) {
		if !strings.HasSuffix(args[1], ".archive") {
			return r, cli.Usagef("%s: call it NAME.archive, since its manifest will be NAME.proof", args[1])
		}
		return campaign.Export(ctx, args[0], name, args[1], minNodes)
	})
	c.Flags().StringVar(&name, "campaign", "", "export the campaign `NAME` (default: the first)")
	c.Flags().Uint64Var(&minNodes, "min-nodes", 0, "leave out claims of fewer than `NODES` (default 0)")
	return c
}
