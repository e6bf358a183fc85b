package eventcmd

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/activities/port/dream"
	"github.com/seed-56a03226/oneiros/activities/port/event"
	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/console/cli"
	"github.com/seed-56a03226/oneiros/internal/console/view"
	"github.com/seed-56a03226/oneiros/internal/exit"
)

func eventTypes(app *cli.App) *cobra.Command {
	type textOutput struct {
		Type  string `json:"type"`
		Tells string `json:"announces"`
		When  string `json:"when"`
	}
	return &cobra.Command{
		Use: "types", Short: "Every type of event, what it announces, and when",
		RunE: func(*cobra.Command, []string) error {
			t := cli.NewTable("TYPE", "ANNOUNCES,flex", "WHEN,flex,drop=1")
			list := []textOutput{}
			for _, e := range event.Catalogue() {
				list = append(list, textOutput{e.Type(), e.Announces, e.When})
				t.Add(e.Type(), e.Announces, e.When)
			}
			return app.Rows(list, t, "")
		},
	}
}

func eventSchema(app *cli.App) *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of events",
		Long: "Schema prints the JSON Schema (2020-12) of an event: the envelope, and for each type its data. Fields and types are\nonly ever added.",
		RunE: func(*cobra.Command, []string) error {
			_, err := app.Out.Write(event.JSONSchema())
			return err
		},
	}
}

// archiveLine is the state of one agent's archive.
type archiveLine struct {
	Handle string `json:"agent"`
	archive.Status
	Behind int64 `json:"behind"`
}

func eventsArchive(app *cli.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "archive", Short: "Where each agent's archive stands",
		Long: "Archive shows, for each agent, how many of its events are in the archive (archive.url) and how many wait. A worker\nwrites the archive; this command only reads.",
	}
	view.AddAgentFlag(app, cmd)
	cmd.RunE = app.InStore(func(ctx context.Context, _ []string) error {
		if app.Archive == nil {
			return exit.Refusedf("nothing is archived: archive.url is empty. Set it to a folder or an object store, such as file:///var/lib/oneiros/archive")
		}
		a, err := app.Archive()
		if err != nil {
			return err
		}
		return archiveStands(app, cmd, a)
	})
	return cmd
}

func archiveStands(app *cli.App, cmd *cobra.Command, a *archive.Archive) error {
	list := []archiveLine{}
	t := cli.NewTable("AGENT", "EVENTS,right", "ARCHIVED,right", "PENDING,right", "WRITTEN,drop=1",
		"NEWEST OBJECT,flex,least=30,under,drop=2")
	heads, err := a.Log.Heads(cmd.Context())
	if err != nil {
		return err
	}
	ill := ""
	err = view.Each(app, cmd, func(agent dream.Agent) error {
		s, err := a.Status(cmd.Context(), agent.ID, heads[agent.ID])
		if err != nil {
			return err
		}
		s.Agent = agent.ID
		list = append(list, archiveLine{agent.Handle, s, s.Behind()})
		t.Add(agent.Handle, fmt.Sprint(s.Head), fmt.Sprint(s.Seq), fmt.Sprint(s.Behind()), cli.When(s.At, agent.Zone),
			cli.OrDash(s.Object))
		if s.Fault != "" {
			ill = agent.Handle + ": " + s.Fault
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := app.Rows(map[string]any{"where": a.Bucket.Where(), "agents": list}, t,
		"There is no agent yet."); err != nil {
		return err
	}
	app.Note("The archive is %s.", a.Bucket.Where())
	if ill != "" {
		return exit.Errorf(exit.Failure, "%s", ill)
	}
	return nil
}
