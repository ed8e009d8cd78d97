package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// healthPatience is how long a program may take to say whether it is ready. A master asks its loop,
// which commits to disk between answers, for up to five seconds.
const healthPatience = 6 * time.Second

// maxHealthAnswer is how many bytes of an answer are read: one line is expected.
const maxHealthAnswer = 1 << 10

// HealthCommand returns the command "health" of a program that serves /readyz: it asks the one that
// runs at an address, by default the given one, and ends with exit code 0 if it is ready. It is for
// health checks where there is nothing but the program, as in our container image.
func HealthCommand(usual string) *cobra.Command {
	var address string
	c := &cobra.Command{
		Use:   "health",
		Short: "Check that the program on this machine is ready (exit code 0) or not (1)",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := DialAddress("http", address, usual)
			if err != nil {
				return err
			}
			return askHealth(c.Context(), at, c.OutOrStdout())
		},
	}
	c.Flags().StringVar(&address, "http", usual, "ask the pages at `ADDR`")
	return c
}

// askHealth writes what /readyz at an address answers, and returns an error unless that is that the
// program is ready.
func askHealth(ctx context.Context, address string, w io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, healthPatience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/readyz", nil)
	if err != nil {
		return Usagef("--http %s: %w", address, err)
	}
	response, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(request) // no proxy: it is this machine
	if err != nil {
		if dial, ok := errors.AsType[*net.OpError](err); ok {
			err = dial.Err
		} else if ctx.Err() == nil {
			return fmt.Errorf("what answers at %s are no pages; perhaps it is the port for workers (--listen)", address)
		}
		return fmt.Errorf("no pages answer at %s: %w; they are on where a program has --http", address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, maxHealthAnswer))
	if err != nil {
		return fmt.Errorf("ask for health: %w", err)
	}
	said, _, _ := strings.Cut(string(body), "\n")
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("not ready: %s", said)
	}
	_, err = fmt.Fprintln(w, said)
	return err
}
