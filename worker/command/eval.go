package command

import (
	"errors"
	"fmt"

	"amazonsfarm/shared/cli"
	"amazonsfarm/shared/endgame"
	"amazonsfarm/shared/eval"

	"github.com/spf13/cobra"
)

// evalCommand is the command eval.
func evalCommand() *cobra.Command {
	var dir string
	var asJSON, asSVG, noDB bool
	c := &cobra.Command{
		Use:   "eval POSITION",
		Short: "Judge a position without search and say why: areas, bounds, sums, verdict",
		Long:  help.Long("eval"),
		Args:  cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if asJSON && asSVG {
				return cli.Usagef("--json and --svg: choose one")
			}
			p, err := parsePosition(args)
			if err == nil {
				err = checkFolder("db", dir)
			}
			if err != nil {
				return err
			}
			given := dir != ""
			if !given {
				dir, _ = endgame.DefaultDir() // none where nobody says where caches are
			}
			var db *endgame.DB
			if !noDB && dir != "" {
				// A folder that the user named must have a database. The default one may be empty or
				// absent.
				if db, err = openFolder(dir, c.ErrOrStderr()); err != nil && given {
					return err
				} else if err != nil && !errors.Is(err, endgame.ErrNone) {
					fmt.Fprintf(c.ErrOrStderr(), "worker: passed over: %v\n", err)
				}
			}
			if db != nil {
				defer db.Close()
			}
			e := eval.NewJudge(db, eval.FullSettings()).Explain(p)
			text := e.Text
			if asSVG {
				text = e.SVG
			}
			return cli.Answer(c, asJSON, e, text())
		},
	}
	c.Flags().StringVar(&dir, "db", "",
		"use the database in `FOLDER` (default: amazonsfarm in the user's cache folder)")
	c.Flags().BoolVar(&noDB, "no-db", false, "judge without a database")
	jsonFlag(c, &asJSON)
	c.Flags().BoolVar(&asSVG, "svg", false, "print a picture")
	return c
}
