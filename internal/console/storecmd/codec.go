package storecmd

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/exit"
	"github.com/seed-56a03226/oneiros/internal/hostname"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// usualCodec is where Temporal's own examples put a codec server.
const usualCodec = "127.0.0.1:8081"

// Codec builds the command oneiros codec.
func Codec(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "codec", Short: "Encrypt what Temporal stores: make keys, decrypt, serve its UI",
		GroupID: cli.DeploymentGroup,
		Long:    "Temporal stores the inputs and results of a dream's activities. With keys in seal.keys_file or seal.keys_env they are\nsealed, which means encrypted. These commands make such keys and open what is sealed. docs/sealing.md says what is\nsealed, what is not, and how to change keys.",
	}
	cmd.AddCommand(codecNewKey(app), codecServe(app), codecDecode(app))
	return cmd
}

func codecNewKey(app *cli.App) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "new-key", Short: "Print a new line for the keys file",
		Long: `New-key makes a random key and prints it as one line for the keys file, which only its owner should be able to read. The
key on the first line of the file seals; the key on any line opens what it has sealed. To change keys, add the new one as
the second line on every worker and client first, and move it to the first line when all of them have it.`,
		RunE: func(*cobra.Command, []string) error {
			if id == "" {
				suffix := make([]byte, 2) // distinguishes two keys of one day
				if _, err := io.ReadFull(app.Random, suffix); err != nil {
					return fmt.Errorf("draw an id: %w", err)
				}
				id = app.Now().UTC().Format(time.DateOnly) + "-" + hex.EncodeToString(suffix)
			}
			line, err := payload.NewLine(id, app.Random)
			if err != nil {
				return exit.AsUsage(err)
			}
			if app.Json {
				return app.Answer(map[string]string{"id": id, "line": line})
			}
			fmt.Fprintln(app.Out, line)
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the key's id; empty: today's date and four digits")
	return cmd
}

// sealKeys returns the configured keys; none is an error of usage here.
func sealKeys(app *cli.App) (payload.Keys, string, error) {
	keys, place, err := app.Backend.SealKeys()
	if err == nil && keys.Empty() {
		err = exit.Usagef("no sealing keys are configured; name them with seal.keys_file or seal.keys_env, and make one with oneiros codec new-key")
	}
	return keys, place, err
}

func codecDecode(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "decode [FILE]", Short: "Open the sealed payloads in JSON that Temporal's tools printed",
		Args: cobra.MaximumNArgs(1),
		Long: `Decode reads JSON, such as the history that temporal workflow show --output json prints, opens every sealed payload in it
and prints the whole. It reads FILE, or standard input without FILE or where FILE is -.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, _, err := sealKeys(app)
			if err != nil {
				return err
			}
			in := app.In
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return exit.AsUsage(fmt.Errorf("open the JSON: %w", err))
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			n, err := payload.OpenJSON(keys, in, app.Out)
			if err == nil && n == 0 {
				app.Note("Nothing in it was sealed.")
			}
			return err
		},
	}
}

func codecServe(app *cli.App) *cobra.Command {
	var listen, token string
	var origins, hosts []string
	cmd := &cobra.Command{
		Use: "serve", Short: "Open sealed payloads for Temporal's UI and command line",
		Long: `Serve runs a remote codec server until Ctrl-C. In Temporal's UI its address is set under the data encoder's icon;
Temporal's command line takes it as --codec-endpoint. Anyone who can reach it can read what is sealed: it listens on
loopback, and on another address only with --listen and a token. The host of a request must be a loopback name, the
address of --listen or a --host, so that a web page cannot reach it by a host name of its own that points here.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, place, err := sealKeys(app)
			if err != nil {
				return err
			}
			s := payload.Server{Keys: keys, Origins: origins}
			if token != "" {
				s.Token = strings.TrimSpace(app.Backend.Getenv(token))
				if s.Token == "" {
					return exit.Usagef("--token-env names %s, which is not set", token)
				}
			}
			if err := checkOrigins(origins); err != nil {
				return err
			}
			if err := guarded(listen, s.Token); err != nil {
				return err
			}
			s.Hosts, err = codecHosts(listen, hosts)
			if err != nil {
				return err
			}
			return serveCodec(cmd.Context(), app, s, listen, place)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", usualCodec, "`address` to listen on; port 0 takes a free one")
	cmd.Flags().StringSliceVar(&origins, "origin", []string{"http://127.0.0.1:8233", "http://localhost:8233"},
		"`origin` of the UI whose pages may send requests; may be repeated")
	cmd.Flags().StringSliceVar(&hosts, "host", nil,
		"host `name` in requests of other machines, without a port; may be repeated")
	cmd.Flags().StringVar(&token, "token-env", "", "environment `variable` with the bearer token that requests need")
	return cmd
}

func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || o != u.Scheme+"://"+u.Host {
			return exit.Usagef("--origin %q should be a scheme and a host, such as http://127.0.0.1:8233", o)
		}
	}
	return nil
}

// guarded refuses to unseal payloads for a whole network without a token.
func guarded(listen, token string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return exit.Usagef("--listen %q should be host:port, such as %s", listen, usualCodec)
	}
	if token == "" && !hostname.Loopback(host) {
		return exit.Usagef("--listen %s can be reached by other machines, and anybody who reaches it can read what is sealed: add --token-env, or listen on 127.0.0.1",
			listen,
		)
	}
	return nil
}

// codecHosts are the host names accepted beside those of loopback. An address that stands for every address of this
// machine has no name that could be derived, so that --host must name one.
func codecHosts(listen string, named []string) ([]string, error) {
	for _, name := range named {
		if name == "" || strings.ContainsAny(name, "/@ ") ||
			strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return nil,
				exit.Usagef(
					"--host %q should be a name or an address without scheme and port, such as codec.internal", name)
		}
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, exit.Usagef("--listen %q should be host:port, such as %s", listen, usualCodec)
	}
	if ip := net.ParseIP(host); host != "" && !ip.IsUnspecified() {
		return append(named, host), nil
	}
	if len(named) == 0 {
		return nil,
			exit.Usagef("--listen %s takes requests under every address of this machine: add --host with the name under which they come, "+
				"such as --host codec.internal",
				listen,
			)
	}
	return named, nil
}

// codecStopsWithin is how long requests under way may take when the server stops.
const codecStopsWithin = 5 * time.Second

func serveCodec(ctx context.Context, app *cli.App, s payload.Server, listen, place string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return exit.AsUsage(fmt.Errorf("listen for the codec: %w", err))
	}
	address := "http://" + l.Addr().String()
	if app.Json {
		if err := app.Answer(
			map[string]any{"running": true, "address": address, "keys": s.Keys.IDs(), "origins": s.Origins}); err !=
			nil {
			return errors.Join(err, l.Close())
		}
	} else {
		app.Fields(app.Out, "codec", address, "keys", strings.Join(s.Keys.IDs(), ", ")+" (from "+place+")", "pages",
			strings.Join(s.Origins, ", "))
		app.Note("Running. Ctrl-C stops it.")
	}
	server := &http.Server{
		Handler: s.Handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: time.Minute,
		WriteTimeout: time.Minute,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(l) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve the codec: %w", err)
	case <-ctx.Done():
	}
	app.Note("Stopping.")
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), codecStopsWithin)
	defer cancel()
	err = server.Shutdown(within)
	<-ended
	return err
}
