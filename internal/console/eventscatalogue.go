package console

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/seed-56a03226/oneiros/internal/archive"
	"github.com/seed-56a03226/oneiros/internal/dream"
	"github.com/seed-56a03226/oneiros/internal/event"
)

func (app *App) eventTypes() *cobra.Command {
	type textOutput struct {
		Type  string `json:"type"`
		Tells string `json:"announces"`
		When  string `json:"when"`
	}
	return &cobra.Command{
		Use: "types", Short: "Every type of event, what it announces, and when", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t := &table{
				columns: []column{
					{title: "TYPE"},
					{title: "ANNOUNCES", flex: true},
					{title: "WHEN", flex: true, drop: 1},
				},
			}
			list := []textOutput{}
			for _, e := range event.Catalogue() {
				list = append(list, textOutput{e.Type(), e.Announces, e.When})
				t.add(e.Type(), e.Announces, e.When)
			}
			return app.rows(list, t, "")
		},
	}
}

func (app *App) eventSchema() *cobra.Command {
	return &cobra.Command{
		Use: "schema", Short: "Print the JSON Schema of events", Args: cobra.NoArgs,
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

func (app *App) eventsArchive() *cobra.Command {
	cmd := &cobra.Command{
		Use: "archive", Short: "Where each agent's archive stands", Args: cobra.NoArgs,
		Long: "Archive tells, for each agent, how many of its events lie in the archive (archive.url) and how many wait. A worker\nwrites it; this command only looks.",
	}
	app.addAgentFlag(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		h, err := app.within(cmd.Context())
		if err != nil {
			return err
		}
		if h.Archive == nil {
			return exit(Refused,
				"nothing is archived: archive.url is empty. Set it to a folder or an object store, such as file:///var/lib/oneiros/archive")
		}
		a, err := h.Archive()
		if err != nil {
			return err
		}
		return app.archiveStands(cmd, a)
	}
	return cmd
}

func (app *App) archiveStands(cmd *cobra.Command, a *archive.Archive) error {
	list := []archiveLine{}
	t := &table{columns: []column{
		{title: "AGENT"},
		{title: "EVENTS", right: true},
		{title: "ARCHIVED", right: true},
		{title: "BEHIND", right: true},
		{title: "WRITTEN", drop: 1},
		{
			title: "NEWEST OBJECT",
			flex:  true,
			least: 30,
			under: true,
			drop:  2,
		},
	}}
	heads, err := a.Log.Heads(cmd.Context())
	if err != nil {
		return err
	}
	ill := ""
	err = app.each(cmd, func(_ *Deployment, agent dream.Agent) error {
		s, err := a.Status(cmd.Context(), agent.ID, heads[agent.ID])
		if err != nil {
			return err
		}
		s.Agent = agent.ID
		list = append(list, archiveLine{agent.Handle, s, s.Behind()})
		t.add(agent.Handle, fmt.Sprint(s.Head), fmt.Sprint(s.Seq), fmt.Sprint(s.Behind()), when(s.At, agent.Zone),
			orDash(s.Object))
		if s.Fault != "" {
			ill = agent.Handle + ": " + s.Fault
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := app.rows(map[string]any{"where": a.Bucket.Where(), "agents": list}, t,
		"There is no agent yet."); err != nil {
		return err
	}
	app.note("The archive is %s.", a.Bucket.Where())
	if ill != "" {
		return exit(Failure, "%s", ill)
	}
	return nil
}
