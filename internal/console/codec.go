package console

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

	"github.com/seed-56a03226/oneiros/internal/hostname"
	"github.com/seed-56a03226/oneiros/internal/payload"
)

// CodecCommand holds the functions behind the sealing commands.
type CodecCommand struct {
	Keys   func() (keys payload.Keys, place string, err error) // as configured; empty when nothing is sealed
	Getenv func(name string) string
	Random io.Reader
}

// usualCodec is where Temporal's own examples put a codec server.
const usualCodec = "127.0.0.1:8081"

func (app *App) codec() *cobra.Command {
	cmd := &cobra.Command{
		Use: "codec", Short: "Seal what Temporal stores: make keys, open what is sealed, serve the UI",
		GroupID: deployment,
		Long:    "Codec is about the keys that seal what Temporal stores of a dream, named by seal.keys_file or seal.keys_env.\ndocs/sealing.md says what is sealed, what never is, and how to change keys.",
	}
	cmd.AddCommand(app.codecNewKey(), app.codecServe(), app.codecDecode())
	return cmd
}

func (app *App) codecNewKey() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "new-key", Short: "Print a new line for the keys file",
		Long: `New-key draws a key and prints its line; keep it in a file that only its owner can read.
The first line of the file seals, every line opens. A new key goes to the second line of every worker and client first,
and to the first line when all of them have it.`,
		RunE: func(*cobra.Command, []string) error {
			if id == "" {
				suffix := make([]byte, 2) // tells two keys of one day apart
				if _, err := io.ReadFull(app.Codec.Random, suffix); err != nil {
					return fmt.Errorf("draw an id: %w", err)
				}
				id = app.Now().UTC().Format(time.DateOnly) + "-" + hex.EncodeToString(suffix)
			}
			line, err := payload.NewLine(id, app.Codec.Random)
			if err != nil {
				return usage(err)
			}
			if app.json {
				return app.answer(map[string]string{"id": id, "line": line})
			}
			fmt.Fprintln(app.Out, line)
			return nil
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the key's id; empty: today's date and four digits")
	return cmd
}

// keys returns the configured keys; none is an error of usage here.
func (app *App) keys() (payload.Keys, string, error) {
	keys, place, err := app.Codec.Keys()
	if err == nil && keys.Empty() {
		err = exit(Usage,
			"no sealing keys are configured; name them with seal.keys_file or seal.keys_env, and make one with oneiros codec new-key")
	}
	return keys, place, err
}

func (app *App) codecDecode() *cobra.Command {
	return &cobra.Command{
		Use: "decode [FILE]", Short: "Open every sealed payload in JSON that Temporal's tools printed",
		Args: cobra.MaximumNArgs(1),
		Long: `Decode reads JSON from FILE, or from standard input when there is none or it is -, such as a history that
temporal workflow show --output json printed, opens every sealed payload in it and prints the whole.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, _, err := app.keys()
			if err != nil {
				return err
			}
			in := app.In
			if len(args) == 1 && args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return usage(fmt.Errorf("open the JSON: %w", err))
				}
				defer func() { _ = f.Close() }()
				in = f
			}
			n, err := payload.OpenJSON(keys, in, app.Out)
			if err == nil && n == 0 {
				app.note("Nothing in it was sealed.")
			}
			return err
		},
	}
}

func (app *App) codecServe() *cobra.Command {
	var listen, token string
	var origins, hosts []string
	cmd := &cobra.Command{
		Use: "serve", Short: "Open sealed payloads for Temporal's UI and command line",
		Long: `Serve runs a remote codec server, until Ctrl-C. In the UI its address is set under the data encoder's icon; the command
line takes it as --codec-endpoint. Anyone who can reach it can read what is sealed: it listens on loopback unless told
otherwise, and elsewhere only with a token. A request must name it by a loopback name, by the address of --listen or by
a --host: a web page that makes a name of its own point here is refused.`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			keys, place, err := app.keys()
			if err != nil {
				return err
			}
			s := payload.Server{Keys: keys, Origins: origins}
			if token != "" {
				s.Token = strings.TrimSpace(app.Codec.Getenv(token))
				if s.Token == "" {
					return exit(Usage, "--token-env names %s, which is not set", token)
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
			return app.serveCodec(cmd.Context(), s, listen, place)
		},
	}
	cmd.Flags().StringVar(&listen, "listen", usualCodec, "`address` to listen on; port 0 takes a free one")
	cmd.Flags().StringSliceVar(&origins, "origin", []string{"http://127.0.0.1:8233", "http://localhost:8233"},
		"`origin` of the UI whose pages may ask; may be repeated")
	cmd.Flags().StringSliceVar(&hosts, "host", nil,
		"`name` under which other machines ask, without a port; may be repeated")
	cmd.Flags().StringVar(&token, "token-env", "", "`variable` that holds the bearer token to ask for")
	return cmd
}

func checkOrigins(origins []string) error {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" || o != u.Scheme+"://"+u.Host {
			return exit(Usage, "--origin %q should be a scheme and a host, such as http://127.0.0.1:8233", o)
		}
	}
	return nil
}

// guarded refuses to unseal payloads for a whole network without a token.
func guarded(listen, token string) error {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return exit(Usage, "--listen %q should be host:port, such as %s", listen, usualCodec)
	}
	if token == "" && !hostname.Loopback(host) {
		return exit(Usage,
			"--listen %s can be reached by other machines, and anybody who reaches it can read what is sealed: add --token-env, or listen on 127.0.0.1",
			listen)
	}
	return nil
}

// codecHosts are the host names accepted beside those of loopback. An address that stands for every address of this
// machine has no name that could be derived, so that --host must name one.
func codecHosts(listen string, named []string) ([]string, error) {
	for _, name := range named {
		if name == "" || strings.ContainsAny(name, "/@ ") || strings.Contains(name, ":") && net.ParseIP(name) == nil {
			return nil,
				exit(Usage,
					"--host %q should be a name or an address without scheme and port, such as codec.internal", name)
		}
	}
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, exit(Usage, "--listen %q should be host:port, such as %s", listen, usualCodec)
	}
	if ip := net.ParseIP(host); host != "" && !ip.IsUnspecified() {
		return append(named, host), nil
	}
	if len(named) == 0 {
		return nil,
			exit(Usage,
				"--listen %s takes requests under every address of this machine: add --host with the name under which they come, "+
					"such as --host codec.internal", listen)
	}
	return named, nil
}

// codecStopsWithin is how long requests under way may take when the server stops.
const codecStopsWithin = 5 * time.Second

func (app *App) serveCodec(ctx context.Context, s payload.Server, listen, place string) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", listen)
	if err != nil {
		return usage(fmt.Errorf("listen for the codec: %w", err))
	}
	address := "http://" + l.Addr().String()
	if app.json {
		if err := app.answer(
			map[string]any{"running": true, "address": address, "keys": s.Keys.IDs(), "origins": s.Origins}); err !=
			nil {
			return errors.Join(err, l.Close())
		}
	} else {
		app.fields(app.Out, "codec", address, "keys", strings.Join(s.Keys.IDs(), ", ")+" (from "+place+")", "pages",
			strings.Join(s.Origins, ", "))
		app.note("Running. Ctrl-C stops it.")
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
	app.note("Stopping.")
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), codecStopsWithin)
	defer cancel()
	err = server.Shutdown(within)
	<-ended
	return err
}
